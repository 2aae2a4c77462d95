// Profiles: instructions, tools, model and isolation of a kind of agent. An agent pins one revision, a shared
// blob, when it is made; so all agents of a profile send the same first bytes and a prompt cache serves them all.

import type { Isolation } from '../protocol/agent.ts';

export interface Profile {
  readonly name: string;
  readonly description: string;
  readonly instructions: string;
  /** Names of the tools it is offered; null: all. */
  readonly tools: readonly string[] | null;
  readonly isolation: Isolation;
  /** provider/model; null: the parent's, or the person's default. */
  readonly model: string | null;
}

const house = `You are an agent of Roost, working in a folder on a person's machine. Other agents may work beside you.
Use the tools to look before you claim anything. Keep answers short and concrete: name files and lines.
A result marked "unknown" means the runtime could not see whether the command took effect: check before you run it again.
Text that starts with [roost] comes from the runtime, not from a person.`;

const work = ['shell', 'read', 'edit', 'write', 'search', 'ask_user', 'send_message', 'submit_result'];
const delegate = ['spawn_agent', 'wait_agent', 'list_agents', 'followup_task', 'interrupt_agent'];

/** The profiles that are always there. People add their own beside them. */
export const builtInProfiles: readonly Profile[] = [
  {
    name: 'implementer',
    description: 'Does a task: reads, edits, runs commands, delegates parts when that helps.',
    instructions: `${house}\nDo the task you are given, check that it works, then say in a few lines what you changed.`,
    tools: [...work, ...delegate],
    isolation: 'shared',
    model: null,
  },
  {
    name: 'planner',
    description: 'Divides work, starts agents for the parts, waits for them and puts their results together.',
    instructions: `${house}\nDivide the work into parts that do not touch the same files. Start one agent for each part in one spawn_agent call, each with a task that stands on its own. Wait for them with wait_agent, then put their results together. Do small things yourself.`,
    tools: [...work, ...delegate],
    isolation: 'shared',
    model: null,
  },
  {
    name: 'explorer',
    description: 'Reads and searches, changes nothing, reports what it found.',
    instructions: `${house}\nFind out what you are asked. You cannot change files. Report what you found with files and lines.`,
    tools: ['read', 'search', 'shell', 'ask_user', 'send_message', 'submit_result'],
    isolation: 'readonly',
    model: null,
  },
  {
    name: 'reviewer',
    description: 'Reads code critically, changes nothing, reports what is wrong.',
    instructions: `${house}\nLook for what is wrong: bugs, missing cases, unclear names. You cannot change files. Report each finding with file, line and reason; say so when you find none.`,
    tools: ['read', 'search', 'shell', 'ask_user', 'send_message', 'submit_result'],
    isolation: 'readonly',
    model: null,
  },
  {
    name: 'verifier',
    description: 'Runs the tests and checks a claim, changes nothing.',
    instructions: `${house}\nCheck the claim you are given by running things. You cannot change files. Report what you ran and what came out.`,
    tools: ['read', 'search', 'shell', 'ask_user', 'send_message', 'submit_result'],
    isolation: 'readonly',
    model: null,
  },
];

/** A built-in profile by name. */
export function builtInProfile(name: string): Profile | undefined {
  return builtInProfiles.find((profile) => profile.name === name);
}
