// The Scout port, and the folder that it looks at: instructions, a skill and a profile that people change now and
// then. Each version of a file has its own mark in its text, so that a check sees in a request what was told.
//
// Not here: whether what was told had been trusted (checks.ts).

import {
  noKnowledge,
  type Instructions,
  type Knowledge,
  type ProfileFile,
  type Server,
  type Skill,
} from '../../sidecar/core/knowledge.ts';
import type { Offer } from '../../sidecar/core/offers.ts';
import type { Scout } from '../../sidecar/ports.ts';
import { hash } from './chance.ts';
import type { Sim } from './sim.ts';
import type { Process } from './world.ts';

/** What a file's text is found by in a request: its hash. */
export const markOf = (fileHash: string): string => `«${fileHash}»`;
export const marksIn = (text: string): readonly string[] =>
  [...text.matchAll(/«(\w+)»/g)].map((match) => match[1] ?? '');

/** The folder that all agents work in. It survives every crash. */
export class Folder {
  version = 0;
  /** Of the list that servers offer. */
  edition = 0;
  readonly #seed: string;
  readonly #says: boolean;
  readonly #own = new Set<string>();

  constructor(seed: string, says: boolean) {
    this.#seed = seed;
    this.#says = says;
  }

  /** What a look finds now: a function of the seed and the version. */
  knowledge(): Knowledge {
    if (!this.#says) return noKnowledge;
    const draw = (what: string): number => hash(this.#seed, this.version, what);
    const instructions = ['AGENTS.md', 'CLAUDE.md'].filter((name) => draw(name) % 3 !== 0);
    return {
      worktrees: draw('worktrees') % 2 === 0,
      instructions: instructions.map((name) => this.#instructions(name)),
      skills: draw('skill') % 2 === 0 ? [this.#skill()] : [],
      profiles: draw('profile') % 4 === 0 ? [] : [this.#profile()],
      servers: draw('server') % 3 === 0 ? [] : [this.#server()],
      problems: [],
    };
  }

  /** Whether a mark is of a file that is the person's own: nobody is asked about it. */
  isOwn(mark: string): boolean {
    return this.#own.has(mark);
  }

  /** Files change one at a time, so some keep their bytes from version to version. */
  #file(label: string) {
    const edition = Math.floor((this.version + label.length) / 2);
    const fileHash = hash(this.#seed, label, edition).toString(16).padStart(32, 'f');
    const own = label.startsWith('~');
    if (own) this.#own.add(fileHash);
    return { label, path: `/place/${label}`, hash: fileHash, sizeBytes: 10, own };
  }

  #instructions(label: string): Instructions {
    const file = this.#file(label);
    return { ...file, kind: 'instructions', text: markOf(file.hash) };
  }

  #skill(): Skill {
    const file = this.#file('~/deploy/SKILL.md');
    return { ...file, kind: 'skill', name: 'deploy', description: markOf(file.hash) };
  }

  #server(): Server {
    const file = this.#file('docs');
    return { ...file, kind: 'server', name: 'docs', transport: 'stdio', line: 'docs', given: [] };
  }

  /** What a server of this definition offers at this moment: a list that changes now and then. */
  offer(fileHash: string): Offer {
    const tool = (name: string, reading: boolean) => ({
      name,
      description: markOf(fileHash),
      schema: { type: 'object', edition: this.edition },
      reading,
    });
    const tools = [tool('find', true), tool('post', false)];
    return { tools: this.edition % 3 === 2 ? tools.slice(1) : tools, dropped: [] };
  }

  #profile(): ProfileFile {
    const file = this.#file('custom.md');
    return {
      ...file,
      kind: 'profile',
      profile: {
        name: 'custom',
        description: markOf(file.hash),
        instructions: markOf(file.hash),
        tools: null,
        servers: 'all',
        isolation: 'shared',
        model: null,
        mode: null,
        apart: true,
      },
    };
  }
}

export class FakeScout implements Scout {
  readonly #sim: Sim;
  readonly #process: Process;

  constructor(sim: Sim, process: Process) {
    this.#sim = sim;
    this.#process = process;
  }

  look(workspace: string, post: (knowledge: Knowledge) => void): void {
    const { chance, folder, world } = this.#sim;
    this.#sim.effect(`look ${workspace}`);
    world.later(chance.around(5), () => post(folder.knowledge()), this.#process);
  }

  setServerFiles(): void {
    this.#sim.effect('server files');
  }
}
