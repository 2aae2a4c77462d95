// A content hash for names of shared text and of hunks: 128 bits from four 32-bit lanes of MurmurHash3's mixing
// steps (A. Appleby, public domain). Not for secrets and not against an adversary: a person's own text names itself.

/** 32 hex digits that name a text. */
export function hashText(text: string): string {
  const lanes = [0x9368e53c, 0x586dcd20, 0x2b1d6f37, 0x71c4a9b5];
  const salts = [0xcc9e2d51, 0x1b873593, 0x38b34ae5, 0xa1e38b93];
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    for (let lane = 0; lane < 4; lane++) {
      let k = Math.imul(unit + i + 1, salts[lane] ?? 1);
      k = (k << 15) | (k >>> 17);
      let h = (lanes[lane] ?? 0) ^ Math.imul(k, salts[(lane + 1) % 4] ?? 1);
      h = (h << 13) | (h >>> 19);
      lanes[lane] = (Math.imul(h, 5) + 0xe6546b64) | 0;
    }
  }
  return lanes.map((h) => (finish(h ^ text.length) >>> 0).toString(16).padStart(8, '0')).join('');
}

function finish(value: number): number {
  let h = value;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}
