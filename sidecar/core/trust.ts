// What a person is asked about files of a folder: one question about texts that agents would be told, and one about
// programs that would be run. A question names the very bytes that it is about.

import type { KnownFileRow } from '../protocol/profile.ts';
import type { Pending, Trustable } from './knowledge.ts';
import { head } from './text.ts';

export interface TrustQuestion {
  /** Names the folder and 128 bits of the hash of each file: an answer to other bytes decides nothing (case 219). */
  readonly cluster: string;
  readonly title: string;
  readonly detail: string;
  readonly files: readonly Trustable[];
}

export interface TrustPlace {
  /** Row of `place`. */
  readonly place: number;
  readonly folder: string;
}

export interface TrustLimits {
  readonly askTitleChars: number;
  readonly askDetailBytes: number;
}

/** The questions that are open about a folder; none when all is decided. */
export function trustQuestions(
  at: TrustPlace,
  pending: Pending,
  limits: TrustLimits,
): readonly TrustQuestion[] {
  const { texts, servers } = pending;
  const told = `Agents that work in ${at.folder} are told what these files say. Allow when you know them; deny to work without them. You are asked again when one of them changes.`;
  const run = `Agents that work in ${at.folder} may call tools of these servers: programs that run as you, outside of any sandbox, and addresses that are sent what agents know. Allow when you know them; deny to work without them. You are asked again when one of them changes.`;
  const questions: TrustQuestion[] = [];
  const ask = (files: readonly Trustable[], what: string, why: string): void => {
    if (files.length === 0) return;
    const names = files.map((file) => file.label).join(', ');
    questions.push({
      cluster: `trust:${at.place}:${files.map(({ hash }) => hash.slice(0, 32)).join('')}`,
      title: head(
        `Trust ${files.length} ${what}${files.length === 1 ? '' : 's'} of this project: ${names}`,
        limits.askTitleChars,
      ),
      detail: head(`${why}\n\n${files.map(shown).join('\n\n')}`, limits.askDetailBytes),
      files,
    });
  };
  ask(texts, 'file', told);
  ask(servers, 'server', run);
  return questions;
}

const nouns: Readonly<Record<KnownFileRow['kind'], string>> = {
  instructions: 'instructions',
  skill: 'a skill, read when it is needed',
  profile: 'a profile',
  server: 'a server',
};

function shown(file: Trustable): string {
  const line = `── ${file.label} (${nouns[file.kind]}, ${file.sizeBytes} bytes) ──`;
  switch (file.kind) {
    case 'instructions':
      return `${line}\n${file.text.trim()}`;
    case 'skill':
      return `${line}\n${file.name}: ${file.description}`;
    case 'server': {
      const given = file.given.length === 0 ? '' : `\nis given: ${file.given.join(', ')}`;
      return `${line}\n${file.transport === 'stdio' ? 'runs' : 'asks'}: ${file.line}${given}`;
    }
    case 'profile': {
      const { name, description, tools, isolation, mode, instructions } = file.profile;
      const facts = `${name}: ${description}\ntools: ${tools?.join(', ') ?? 'all'}; isolation: ${isolation}; mode: ${mode ?? 'as whoever starts it'}`;
      return `${line}\n${facts}\n\n${instructions}`;
    }
  }
}
