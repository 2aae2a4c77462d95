// What the language servers of this window say, for agents. Documents are loaded for them where they are not open;
// no editor is shown and nothing takes the focus (case 238).

import { stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import * as vscode from 'vscode';
import type { CodeLocation, Diagnostic, Range, Seek, Severity } from '../sidecar/protocol/language.ts';
import type { EditorHandlers } from './wire.ts';
import { limits } from './limits.ts';
import type { Paths } from './paths.ts';

type Handlers = Pick<EditorHandlers, 'editor/diagnostics' | 'editor/locations'>;

export function languageServices(paths: Paths): Handlers {
  return {
    'editor/diagnostics': async ({ path, most }) => {
      const uri = vscode.Uri.file(paths.toShown(path));
      const isFolder = await isDirectory(path);
      const all = isFolder ? diagnosticsBelow(paths, path) : await diagnosticsOf(uri);
      const found = all.flatMap(([uri, list]) => list.map((each) => diagnosticOf(paths, uri, each)));
      found.sort((a, b) => a.severity - b.severity);
      const unseen = !isFolder && !isInTab(uri);
      return { diagnostics: found.slice(0, most), more: Math.max(0, found.length - most), unseen };
    },
    'editor/locations': async ({ path, position, find, most }) => {
      const { uri } = await vscode.workspace.openTextDocument(vscode.Uri.file(paths.toShown(path)));
      await namedSymbols(uri);
      const at = new vscode.Position(position.line, position.character);
      const answer: unknown = await vscode.commands.executeCommand(providers[find], uri, at);
      const found = Array.isArray(answer) ? answer.filter(isPlace) : [];
      const locations = await Promise.all(found.slice(0, most).map((each) => locationOf(paths, each)));
      return { locations, more: Math.max(0, found.length - most) };
    },
  };
}

/** Commands of VS Code that ask all providers of a language. */
const providers: Readonly<Record<Seek, string>> = {
  definition: 'vscode.executeDefinitionProvider',
  references: 'vscode.executeReferenceProvider',
  implementation: 'vscode.executeImplementationProvider',
};

type Found = readonly [vscode.Uri, readonly vscode.Diagnostic[]];

const isDirectory = (real: string): Promise<boolean> =>
  stat(real).then(
    (found) => found.isDirectory(),
    () => false,
  );

function diagnosticsBelow(paths: Paths, folder: string): readonly Found[] {
  const inside = paths.key(folder);
  return vscode.languages
    .getDiagnostics()
    .filter(([uri]) => uri.scheme === 'file' && isBelow(inside, paths.key(paths.toReal(uri.fsPath))));
}

async function diagnosticsOf(uri: vscode.Uri): Promise<readonly Found[]> {
  await spokenOf(uri);
  return [[uri, vscode.languages.getDiagnostics(uri)]];
}

/** The server of TypeScript is asked for diagnostics of tabs alone (VS Code 1.101), whatever else is loaded. */
function isInTab(uri: vscode.Uri): boolean {
  const name = uri.toString();
  return vscode.window.tabGroups.all.some(({ tabs }) =>
    tabs.some(({ input }) => input instanceof vscode.TabInputText && input.uri.toString() === name),
  );
}

const isBelow = (folder: string, file: string): boolean =>
  file.startsWith(folder) && /^[\\/]/.test(file.slice(folder.length));

/**
 * Resolves when servers have looked at a file and are quiet: the API has no request for diagnostics, only what was
 * published last (VS Code 1.101). A server that has named the symbols of a file is up and has read it; its
 * diagnostics come soon after, or there are none.
 */
async function spokenOf(uri: vscode.Uri): Promise<void> {
  const name = uri.toString();
  let last = 0;
  const heard = vscode.languages.onDidChangeDiagnostics(({ uris }) => {
    if (uris.some((each) => each.toString() === name)) last = performance.now();
  });
  try {
    await vscode.workspace.openTextDocument(uri);
    await namedSymbols(uri);
    const end = performance.now() + limits.diagnosticsMs;
    const isCalm = (): boolean => last !== 0 && last + limits.diagnosticsCalmMs < performance.now();
    while (performance.now() < end && !isCalm()) await sleep(limits.diagnosticsLookMs);
  } finally {
    heard.dispose();
  }
}

/** A document that is opened starts its server, and until that is up nobody answers. Nor does anybody for a plain text: false. */
export async function namedSymbols(uri: vscode.Uri): Promise<boolean> {
  const end = performance.now() + limits.languageStartMs;
  do {
    const symbols: unknown = await vscode.commands.executeCommand(
      'vscode.executeDocumentSymbolProvider',
      uri,
    );
    if (Array.isArray(symbols) && symbols.length > 0) return true;
    await sleep(limits.diagnosticsLookMs);
  } while (performance.now() < end);
  return false;
}

function diagnosticOf(paths: Paths, uri: vscode.Uri, found: vscode.Diagnostic): Diagnostic {
  const { code } = found;
  const value = typeof code === 'object' ? code.value : code;
  return {
    path: paths.toReal(uri.fsPath),
    range: rangeOf(found.range),
    severity: severityOf(found.severity),
    message: found.message,
    source: found.source ?? null,
    code: value === undefined ? null : String(value),
  };
}

/** VS Code counts severities from 0, the protocol from 1. */
function severityOf(severity: vscode.DiagnosticSeverity): Severity {
  switch (severity) {
    case vscode.DiagnosticSeverity.Error:
      return 1;
    case vscode.DiagnosticSeverity.Warning:
      return 2;
    case vscode.DiagnosticSeverity.Information:
      return 3;
    case vscode.DiagnosticSeverity.Hint:
      return 4;
  }
}

export const rangeOf = ({ start, end }: vscode.Range): Range => ({
  start: { line: start.line, character: start.character },
  end: { line: end.line, character: end.character },
});

type Place = vscode.Location | vscode.LocationLink;

const isPlace = (found: unknown): found is Place =>
  typeof found === 'object' && found !== null && ('uri' in found || 'targetUri' in found);

async function locationOf(paths: Paths, place: Place): Promise<CodeLocation> {
  const [uri, range] =
    'uri' in place
      ? [place.uri, place.range]
      : [place.targetUri, place.targetSelectionRange ?? place.targetRange];
  const document = await vscode.workspace.openTextDocument(uri).then(
    (opened) => opened,
    () => null,
  );
  const text = document?.lineAt(range.start.line).text.trim() ?? null;
  return { path: paths.toReal(uri.fsPath), range: rangeOf(range), text };
}
