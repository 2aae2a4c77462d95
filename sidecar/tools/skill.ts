// The tool `skill`: the text of a skill whose name and description an agent was told. It reads exactly the bytes that
// a person has trusted: a file that has changed since is refused, not read (case 219).

import { readdir } from 'node:fs/promises';
import path from 'node:path';
import type { Prepared, ToolJob, ToolOutcome } from '../ports.ts';
import { limits } from '../runtime/limits.ts';
import { trustHash } from '../workspace/knowledge.ts';
import { headInBytes, shownText } from '../workspace/bytes.ts';
import { readWhole } from '../workspace/files.ts';
import { fieldsOf } from './fields.ts';
import { failure, refuse, schemaOf } from './tool.ts';
import type { Tool } from './tool.ts';

const spec = {
  name: 'skill',
  description: 'Reads a skill: how something is done here. Names are in your instructions.',
  schema: schemaOf({ name: { type: 'string', description: 'Name of the skill.' } }, ['name']),
};

/** The tool. Pure: it is done again after a crash. */
export function createSkill(): Tool {
  return {
    spec,
    callClass: 'pure',
    prepare: (job) => Promise.resolve(prepare(job)),
    prepareNow: prepare,
    run: (job) => run(job),
    recover: (job) => run(job),
  };
}

function prepare(job: ToolJob): Prepared {
  const fields = fieldsOf('skill', job.input);
  const name = fields.word('name');
  const problem = fields.problem();
  if (problem !== null) return refuse(problem);
  const skills = job.skills ?? [];
  if (skills.some((skill) => skill.name === name))
    return { kind: 'run', evidence: null, ask: null, usesCommandSlot: false };
  return refuse(
    `skill: there is no skill "${name}". There are: ${skills.map((each) => each.name).join(', ')}.`,
  );
}

async function run(job: ToolJob): Promise<ToolOutcome> {
  const skill = (job.skills ?? []).find((each) => each.name === job.input['name']);
  if (skill === undefined) return failure('skill: there is no skill of this name.');
  const found = await readWhole(skill.path, limits.knowledgeFileBytes);
  if (found.kind === 'missing') return failure(`skill: ${skill.name} is not there any more.`);
  if (found.kind === 'refused') return failure(`skill: ${found.text}`);
  if (trustHash('skill', found.bytes) !== skill.hash) {
    return failure(
      `skill: ${skill.name} has changed since you were started, and the person has not been asked about its new text. Work without it, or ask them.`,
    );
  }
  const text = shownText(found.bytes);
  const folder = path.dirname(skill.path);
  const beside = await namesBeside(folder);
  const files = beside.length === 0 ? '' : `\n\n[Files beside it, in ${folder}: ${beside.join(', ')}]`;
  return { status: 'ok', text: bounded(text, skill.path) + files };
}

/** What a skill refers to lies beside it: scripts, references, templates. */
async function namesBeside(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const names = entries
    .filter((entry) => entry.name !== 'SKILL.md')
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name));
  return names.sort().slice(0, limits.skillFiles);
}

function bounded(text: string, file: string): string {
  const sizeBytes = Buffer.byteLength(text);
  const room = limits.resultBytes - 2_048;
  if (sizeBytes <= room) return text;
  return `${headInBytes(text, room)}\n[${sizeBytes - room} more bytes are in ${file}]`;
}
