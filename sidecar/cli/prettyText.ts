// Texts of agents and commands as lines for people.

export function indent(text: string): string {
  return text === '' ? '' : `${text.trimEnd().replaceAll(/^/gm, '    ')}\n`;
}

/** Without control characters but line ends and tabs (C0, DEL, C1). */
export function clean(text: string): string {
  return text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '');
}
