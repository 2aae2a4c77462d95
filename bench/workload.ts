// What a workload file exports, and the few sums that all of them do on their numbers.

export interface Workload {
  /** One line: what is measured. */
  readonly title: string;
  /** Numeric options with their defaults, given as `--name value`. */
  readonly options: Readonly<Record<string, number>>;
  /** Options that name a folder, with what each is for; absent unless given. */
  readonly folders?: Readonly<Record<string, string>>;
  /** Keys of the last line. `say` prints a line for people. */
  run(
    options: Readonly<Record<string, number>>,
    say: (line: string) => void,
    folders: Readonly<Record<string, string>>,
  ): Promise<Readonly<Record<string, number>>>;
}

/** The middle of some numbers; of an even count the lower of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
}

/** Rounded to a number of decimals. */
export function round(value: number, decimals = 1): number {
  const factor = 10 ** decimals;
  return Math.round(value * factor) / factor;
}

/** Context of the models of workloads: what is measured is not how long conversations are made to fit. */
export const wideTokens = 10_000_000;
