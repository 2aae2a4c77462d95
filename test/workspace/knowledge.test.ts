// What a folder tells agents, read from real files: which are found, in which order, within which bounds.

import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { limits } from '../../sidecar/runtime/limits.ts';
import { createLook } from '../../sidecar/workspace/knowledge.ts';
import { createRepository, temporaryFolder } from './repository.ts';

const tools = ['shell', 'read', 'edit', 'write', 'search', 'skill', 'ask_user', 'spawn_agent', 'wait_agent'];

const lookWith = (home: string | null) => createLook({ home, tools: () => tools, serverFiles: () => [] });

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
}

test('instructions come from the top of the repository down to the folder, the home first', async () => {
  const { folder } = createRepository({
    'AGENTS.md': 'top',
    'CLAUDE.md': '@AGENTS.md\n',
    '.github/copilot-instructions.md': 'copilot',
    'web/AGENTS.md': 'web',
    'web/CLAUDE.md': 'web',
    'web/app/CLAUDE.md': 'app',
    'other/AGENTS.md': 'not on the way',
  });
  const home = temporaryFolder();
  write(home, { '.roost/AGENTS.md': 'mine' });
  const found = await lookWith(home)(path.join(folder, 'web/app'));
  assert.deepEqual(
    found.instructions.map(({ label, text, own }) => [label, text, own]),
    [
      ['~/.roost/AGENTS.md', 'mine', true],
      ['AGENTS.md', 'top', false],
      ['.github/copilot-instructions.md', 'copilot', false],
      // CLAUDE.md of the top only says to read AGENTS.md, that of web is a copy of its AGENTS.md.
      ['web/AGENTS.md', 'web', false],
      ['web/app/CLAUDE.md', 'app', false],
    ],
  );
  assert.deepEqual(found.problems, []);
  assert.equal(found.worktrees, true);
});

test('a folder outside of any repository tells what lies in it alone, and has no worktrees', async () => {
  const folder = temporaryFolder();
  write(folder, { 'AGENTS.md': 'above', 'in/AGENTS.md': 'in' });
  const found = await lookWith(null)(path.join(folder, 'in'));
  assert.deepEqual(
    found.instructions.map(({ text }) => text),
    ['in'],
  );
  assert.equal(found.worktrees, false);
});

test('profiles of Roost, Claude Code and GitHub Copilot, in order of precedence', async () => {
  const { folder } = createRepository({
    '.roost/agents/migrator.md':
      '---\ndescription: Moves data\ntools: [read, edit, shell]\nisolation: worktree\nmodel: anthropic/x\nmode: edits\napart: true\n---\nMove it.\n',
    '.claude/agents/critic.md':
      '---\nname: critic\ndescription: Use it when: something is done\ntools: Read, Grep, Glob\nmodel: sonnet\n---\nJudge.\n',
    '.claude/agents/migrator.md': '---\ndescription: another\n---\nHidden.\n',
    '.github/agents/docs.agent.md':
      "---\ndescription: Writes docs\ntools: ['edit', 'search', 'web', 'agent']\n---\nWrite.\n",
    '.github/agents/README.txt': 'not a profile',
  });
  const home = temporaryFolder();
  write(home, { '.claude/agents/mine.md': 'Just instructions.\nOver two lines.' });
  const found = await lookWith(home)(folder);
  assert.deepEqual(
    found.profiles.map(({ label, profile }) => [label, profile.name]),
    [
      ['.roost/agents/migrator.md', 'migrator'],
      ['.claude/agents/critic.md', 'critic'],
      ['.claude/agents/migrator.md', 'migrator'],
      ['.github/agents/docs.agent.md', 'docs'],
      ['~/.claude/agents/mine.md', 'mine'],
    ],
  );
  const [migrator, critic, , docs, mine] = found.profiles.map(({ profile }) => profile);
  assert.deepEqual(migrator, {
    name: 'migrator',
    description: 'Moves data',
    instructions: 'Move it.',
    tools: ['read', 'edit', 'shell', 'write'],
    servers: [],
    isolation: 'worktree',
    model: 'anthropic/x',
    mode: 'edits',
    apart: true,
  });
  assert.deepEqual(critic, {
    name: 'critic',
    description: 'Use it when: something is done',
    instructions: 'Judge.',
    tools: ['read', 'search'],
    servers: [],
    isolation: 'readonly',
    model: null,
    mode: null,
    apart: false,
  });
  assert.deepEqual(docs?.tools, [
    ...[
      'edit',
      'search',
      'spawn_agent',
      'wait_agent',
      'list_agents',
      'followup_task',
      'interrupt_agent',
      'write',
    ],
  ]);
  assert.deepEqual([mine?.description, mine?.tools, mine?.isolation], ['Just instructions.', null, 'shared']);
  assert.deepEqual(found.problems, [
    {
      label: '.claude/agents/critic.md',
      message: 'model "sonnet" is not provider/model, so the model of whoever starts it is used',
    },
    { label: '.github/agents/docs.agent.md', message: 'there is no tool "web" here, it is left out' },
  ]);
});

test('a file that is not right is left out with a reason, and never takes others along', async () => {
  const { folder } = createRepository({
    '.roost/agents/a.md': '---\nname: [1\n---\nBroken fields.\n',
    '.roost/agents/b.md': '---\nname: no good/name\n---\nText.\n',
    '.roost/agents/c.md': '---\ndescription: nothing behind it\n---\n',
    '.roost/agents/d.md': '---\nlaugh: &a [x, x]\nmore: [*a, *a]\n---\nAliases.\n',
    '.roost/agents/good.md': 'Good.',
    '.claude/skills/nameless/SKILL.md': 'No description.',
    '.claude/skills/deploy/SKILL.md':
      '---\nname: deploy\ndescription: >\n  Ships it.\n  Carefully.\n---\nHow.\n',
    'AGENTS.md': 'x',
  });
  const found = await lookWith(null)(folder);
  assert.deepEqual(
    found.profiles.map(({ profile }) => profile.name),
    ['good'],
  );
  assert.deepEqual(
    found.skills.map(({ name, description }) => [name, description]),
    [['deploy', 'Ships it. Carefully.']],
  );
  const labels = found.problems.map(
    ({ label }) => path.basename(path.dirname(label)) + '/' + path.basename(label),
  );
  assert.deepEqual(labels.sort(), [
    'agents/a.md',
    'agents/b.md',
    'agents/c.md',
    'agents/d.md',
    'nameless/SKILL.md',
  ]);
});

test('a link that leads out of the repository is not followed (case 217)', async () => {
  const secret = temporaryFolder();
  write(secret, { id_rsa: 'PRIVATE' });
  const { folder, write: put } = createRepository({ a: '1' });
  symlinkSync(path.join(secret, 'id_rsa'), path.join(folder, 'AGENTS.md'));
  put('real.md', 'inside');
  symlinkSync('real.md', path.join(folder, 'CLAUDE.md'));
  const found = await lookWith(null)(folder);
  assert.deepEqual(
    found.instructions.map(({ label, text }) => [label, text]),
    [['CLAUDE.md', 'inside']],
  );
  assert.match(found.problems[0]?.message ?? '', /outside the repository/);
  assert.ok(!JSON.stringify(found).includes('PRIVATE'));
});

test('long instructions are cut between characters, and said; a huge file is left out', async () => {
  const { folder } = createRepository({
    'AGENTS.md': 'é'.repeat(limits.instructionsBytes),
    'CLAUDE.md': 'x'.repeat(limits.knowledgeFileBytes + 1),
  });
  const found = await lookWith(null)(folder);
  const text = found.instructions[0]?.text ?? '';
  assert.ok(Buffer.byteLength(text) <= limits.instructionsBytes + 200);
  assert.match(text, /^é+\n\[roost: the rest of AGENTS.md is left out here; read the file\]$/);
  assert.deepEqual(
    found.problems.map(({ label }) => label),
    ['AGENTS.md', 'CLAUDE.md'],
  );
});

test('a look is never older than the call, and many at once share one', async () => {
  const { folder, write: put } = createRepository({ 'AGENTS.md': 'one' });
  const look = lookWith(null);
  const first = look(folder);
  put('AGENTS.md', 'two');
  const later = [look(folder), look(folder), look(folder)];
  assert.equal(new Set(later).size, 1);
  assert.equal((await later[0])?.instructions[0]?.text, 'two');
  await first;
  put('AGENTS.md', 'three');
  assert.equal((await look(folder)).instructions[0]?.text, 'three');
});

test('the same files give the same result, byte for byte', async () => {
  const { folder } = createRepository({
    'AGENTS.md': 'a',
    '.roost/agents/z.md': 'Z.',
    '.roost/agents/b.md': 'B.',
    '.agents/skills/k/SKILL.md': '---\ndescription: k\n---\n',
  });
  const look = lookWith(null);
  assert.equal(JSON.stringify(await look(folder)), JSON.stringify(await look(folder)));
});
