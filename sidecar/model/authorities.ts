// Whom a TLS connection trusts: Node's own list, the file a person named, and the system's store when a
// certificate is not trusted otherwise (a corporate authority lies there; case 179). The store is read only
// then, because it can take a quarter of a second.

import { readFileSync } from 'node:fs';
import type * as Tls from 'node:tls';

const tls = (): typeof Tls => process.getBuiltinModule('node:tls');

export class Authorities {
  private readonly caFile: string | null;
  private withSystem = false;
  private made: Tls.SecureContext | null = null;

  constructor(caFile: string | null) {
    this.caFile = caFile;
  }

  /** One context for all connections of a provider: parsing the list costs a megabyte. Throws when caFile is unreadable. */
  context(): Tls.SecureContext {
    if (this.made !== null) return this.made;
    const own = this.caFile === null ? [] : [readFileSync(this.caFile, 'utf8')];
    const system = this.withSystem ? known('system') : [];
    const isUsual = own.length === 0 && system.length === 0;
    this.made = tls().createSecureContext(
      isUsual ? {} : { ca: [...new Set([...known('default'), ...system, ...own])] },
    );
    return this.made;
  }

  /** Adds the system's store; false when it is in already. */
  addSystem(): boolean {
    if (this.withSystem) return false;
    this.withSystem = true;
    this.made = null;
    return true;
  }
}

/** Node before 22.15 cannot tell the system's authorities, and its own list under another name. */
function known(kind: 'default' | 'system'): readonly string[] {
  if ('getCACertificates' in tls()) return tls().getCACertificates(kind);
  return kind === 'default' ? tls().rootCertificates : [];
}
