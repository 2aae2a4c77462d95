// The simple commands of a shell line, each with the folders that it may run in and the files that it is pointed at.
//
// The line is read by a real parser of bash (unbash: no dependencies, 120 KB, a bundle of its own that is loaded with
// the first command), and every command in it is found, wherever it stands: in pipes, lists, subshells, loops,
// conditions, here-documents, substitutions. What a word becomes when the line runs may not be known: then it is
// `open`. What could make later words mean something else, or runs text that is not there to be read, makes the whole
// line unsure. Not here: what the commands are judged by (commandLine.ts).

import type {
  AndOr,
  ArithmeticExpression,
  Assignment,
  Command,
  CommandNode,
  ParsedScript,
  Pipeline,
  Redirection,
  Statement,
  SyntaxNode,
  TestExpression,
  Word,
  WordPart,
} from 'unbash';
import { directoryAfter, open } from './commandReach.ts';

export interface SimpleCommand {
  /** The program and its arguments without their quotes; `open` stands for a part that is known only when it runs. */
  readonly words: readonly string[];
  /** Targets of redirections that write, and of those that read. */
  readonly writes: readonly string[];
  readonly reads: readonly string[];
  /** Its input comes from another command or stands in the line. */
  readonly piped: boolean;
}

export interface Placed {
  readonly command: SimpleCommand;
  /** It may run in any of these. */
  readonly directories: readonly string[];
}

export type Line =
  | { readonly kind: 'read'; readonly commands: readonly Placed[] }
  /** It asks in every mode, for this reason. */
  | { readonly kind: 'unsure'; readonly why: string };

export const unsureText = 'It cannot be read with certainty.';
const movesText = 'It goes to another folder.';

type Parser = Pick<typeof import('unbash'), 'parse' | 'forEachChild'>;
let parser: Parser | null = null;

/** Loads the parser; await it before the first line is read. */
export async function loadParser(): Promise<void> {
  parser ??= await import('unbash');
}

export const isParserLoaded = (): boolean => parser !== null;

/** Folders that a command may run in and that are told apart; a line with more is unsure. */
const mostDirectories = 4;

/** Reads a line that would run in `directory`. */
export function readLine(text: string, directory: string, workspace: string): Line {
  if (parser === null) return { kind: 'unsure', why: unsureText };
  const reader = new Reader(parser, workspace);
  try {
    reader.script(parser.parse(text), { directories: [directory], piped: false });
  } catch (error) {
    if (error instanceof Unsure) return { kind: 'unsure', why: error.message };
    throw error;
  }
  return { kind: 'read', commands: reader.commands };
}

class Unsure extends Error {}

function unsure(why = unsureText): never {
  throw new Unsure(why);
}

interface Where {
  readonly directories: readonly string[];
  /** The input of what runs there is not the terminal's. */
  readonly piped: boolean;
}

class Reader {
  readonly commands: Placed[] = [];
  private readonly parser: Parser;
  private readonly workspace: string;

  constructor(parsing: Parser, workspace: string) {
    this.parser = parsing;
    this.workspace = workspace;
  }

  /** A whole text, or that of a substitution: what it does to its folder ends with it. */
  script(script: ParsedScript | undefined, where: Where): void {
    if (script === undefined || (script.errors?.length ?? 0) > 0) unsure();
    this.list(script.commands, where);
  }

  /** Returns the folders that what follows may run in; every method that takes a command does. */
  private list(statements: readonly Statement[], where: Where): readonly string[] {
    let { directories } = where;
    for (const { command, background } of statements) {
      const after = this.node(command, { ...where, directories });
      // A `cd` may fail, and what follows runs all the same.
      if (background !== true) directories = united(directories, after);
    }
    return directories;
  }

  private node(node: AndOr | Pipeline | CommandNode, where: Where): readonly string[] {
    switch (node.type) {
      case 'Command':
        return this.simple(node, where);
      case 'AndOr':
        return this.andOr(node, where);
      case 'Pipeline':
        return this.pipeline(node, where);
      case 'Redirected': {
        const files = this.redirected(node.redirects, where);
        if (files.writes.length + files.reads.length > 0) this.add([], files, where);
        return this.node(node.command, { ...where, piped: where.piped || files.piped });
      }
      case 'Subshell':
        this.list(node.body.commands, where);
        return where.directories;
      case 'BraceGroup':
        return this.list(node.body.commands, where);
      case 'If': {
        const parts = [node.clause, node.then, ...node.elif.flatMap((elif) => [elif.clause, elif.then])];
        if (node.else !== undefined) parts.push(node.else);
        return this.oneAfterAnother(
          parts.map((part) => part.commands),
          where,
        );
      }
      case 'Case':
        this.expansions(node.word, where);
        for (const item of node.items) for (const word of item.pattern) this.expansions(word, where);
        return this.oneAfterAnother(
          node.items.map((item) => item.body.commands),
          where,
        );
      case 'For':
        for (const word of node.wordlist ?? []) this.expansions(word, where);
        return this.again([node.body.commands], where);
      case 'While':
        return this.again([node.clause.commands, node.body.commands], where);
      case 'TestCommand':
        this.test(node.expression, where);
        this.add(['[['], { writes: [], reads: [], piped: false }, where);
        return where.directories;
      case 'Function':
        return unsure('It changes what later commands mean.');
      case 'Select':
      case 'Coproc':
      case 'ArithmeticFor':
      case 'ArithmeticCommand':
        return unsure();
    }
  }

  /** Any of these may run, in this order. */
  private oneAfterAnother(parts: readonly (readonly Statement[])[], where: Where): readonly string[] {
    let { directories } = where;
    for (const part of parts) directories = this.list(part, { ...where, directories });
    return directories;
  }

  /** A loop: what moves in it moves again with each round. */
  private again(parts: readonly (readonly Statement[])[], where: Where): readonly string[] {
    const after = this.oneAfterAnother(parts, where);
    return after.length === where.directories.length ? after : unsure(movesText);
  }

  private andOr({ commands, operators }: AndOr, where: Where): readonly string[] {
    let all = where.directories;
    let now = all;
    for (const [index, command] of commands.entries()) {
      const after = this.node(command, { ...where, directories: now });
      all = united(all, after);
      // Behind `&&` it is known that a `cd` went well.
      now = operators[index] === '&&' ? after : all;
    }
    return all;
  }

  private pipeline({ commands }: Pipeline, where: Where): readonly string[] {
    let after = where.directories;
    for (const [index, command] of commands.entries())
      after = this.node(command, { ...where, piped: where.piped || index > 0 });
    // Each part of a pipe is a process of its own.
    return commands.length === 1 ? after : where.directories;
  }

  private simple(command: Command, where: Where): readonly string[] {
    const files = this.redirected(command.redirects, where);
    const assignments = command.prefix.filter((each) => each.type === 'Assignment');
    for (const each of assignments) this.assigned(each, where);
    const { name } = command;
    if (name === undefined) {
      if (assignments.some((each) => !isOwnVariable(each))) unsure('It sets variables for other programs.');
      this.add([], files, where);
      return where.directories;
    }
    if (assignments.length > 0) unsure('It sets variables for another program.');
    const words = [name, ...command.args].map((each) => this.text(each, where));
    this.add(words, files, where);
    const moved = where.directories.map((from) => directoryAfter(words, from, this.workspace));
    return moved.map((to) => to ?? unsure(movesText));
  }

  private add(words: readonly string[], files: Files, { directories, piped }: Where): void {
    this.commands.push({ command: { words, ...files, piped: piped || files.piped }, directories });
  }

  private assigned({ value, index }: Assignment, where: Where): void {
    // A subscript is reckoned, and what is reckoned may run a command.
    if (index !== undefined || value.type !== 'Word') return unsure();
    this.expansions(value, where);
  }

  // ---------------------------------------------------------------- redirections

  private redirected(redirections: readonly Redirection[], where: Where): Files {
    const writes: string[] = [];
    const reads: string[] = [];
    let piped = false;
    for (const each of redirections) {
      if (each.type === 'HereDoc') {
        if (each.closing === undefined) unsure();
        if (each.delimiter?.quoted !== true) this.expansions(each.body, where);
        piped = true;
        continue;
      }
      const target = each.target === undefined ? unsure() : this.text(each.target, where);
      const isCopy = /^[<>]&$/.test(each.operator) && /^\d*-?$/.test(target);
      if (isCopy) continue;
      if (each.operator === '<<<') piped = true;
      else if (each.operator === '<') {
        reads.push(target);
        piped = true;
      } else if (each.operator === '<&') unsure();
      else writes.push(target);
    }
    return { writes, reads, piped };
  }

  // ---------------------------------------------------------------- words

  /** A word as its program gets it; what is in substitutions is read. */
  private text(word: Word | Assignment, where: Where): string {
    if (word.type === 'Assignment') {
      this.assigned(word, where);
      const value = word.value.type === 'Word' ? textOf(word.value) : open;
      return `${word.name}=${value}`;
    }
    this.expansions(word, where);
    return textOf(word);
  }

  /** Reads what a word runs before it is given to its program. */
  private expansions(node: SyntaxNode, where: Where): void {
    const { type } = node;
    const isScript = type === 'CommandExpansion' || type === 'ProcessSubstitution';
    if (isScript || type === 'ArithmeticCommandExpansion') return this.script(node.script, where);
    if (type === 'ArithmeticExpansion') return onlyNumbers(node.expression);
    if (type === 'ParameterExpansion') {
      // Indirect names, subscripts and prompts run what is in a variable.
      const operation = node.operation?.type;
      const isPlain = operation !== 'Transform' && operation !== 'Slice' && operation !== 'Unknown';
      if (!isPlain || node.prefix === '!' || node.index !== undefined) unsure();
    }
    this.parser.forEachChild(node, (child) => this.expansions(child, where));
  }

  private test(expression: TestExpression, where: Where): void {
    switch (expression.type) {
      case 'TestUnary':
        // -v and -R look at subscripts.
        if (/^-[vR]$/.test(expression.operator)) unsure();
        return this.expansions(expression.operand, where);
      case 'TestBinary':
        // -eq and its like reckon with what stands beside them.
        if (/^-(eq|ne|lt|le|gt|ge)$/.test(expression.operator)) unsure();
        this.expansions(expression.left, where);
        return this.expansions(expression.right, where);
      case 'TestLogical':
        for (const operand of expression.operands) this.test(operand, where);
        return;
      case 'TestNot':
        return this.test(expression.operand, where);
      case 'TestGroup':
        return this.test(expression.expression, where);
    }
  }
}

type Files = Pick<SimpleCommand, 'writes' | 'reads' | 'piped'>;

function united(some: readonly string[], more: readonly string[]): readonly string[] {
  const all = [...new Set([...some, ...more])];
  return all.length <= mostDirectories ? all : unsure(movesText);
}

/** Arithmetic on variables runs what stands in their values, so that is not known. */
function onlyNumbers(expression: ArithmeticExpression | undefined): void {
  if (expression?.type === 'ArithmeticWord' && /^\d+$/.test(expression.value)) return;
  if (expression?.type === 'ArithmeticUnary') return onlyNumbers(expression.operand);
  if (expression?.type === 'ArithmeticGroup') return onlyNumbers(expression.expression);
  if (expression?.type !== 'ArithmeticBinary') unsure();
  onlyNumbers(expression.left);
  onlyNumbers(expression.right);
}

/** Names that programs do not read: small letters, as scripts call their own, and none of the few small ones that are read. */
const isOwnVariable = ({ name }: Assignment): boolean =>
  /^[a-z][a-z0-9_]*$/.test(name) && !/_proxy$|^histchars$|^auto_resume$/.test(name);

/** The text of a word without its quotes, with `open` for what is not known. */
const textOf = (word: Word): string =>
  word.parts === undefined ? word.value : word.parts.map((part) => textOfPart(part)).join('');

function textOfPart(part: WordPart): string {
  if (part.type === 'Literal' || part.type === 'SingleQuoted') return part.value;
  if (part.type === 'DoubleQuoted') return part.parts.map((each) => textOfPart(each)).join('');
  // Not known are also $'…', which is quoted only in bash, and braces, which become several words.
  return part.type === 'Glob' ? part.text : open;
}
