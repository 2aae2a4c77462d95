// Who may come in: a client of the same protocol major that knows the nonce of the discovery file.

import { createHash, timingSafeEqual } from 'node:crypto';

import { RoostError } from '../protocol/errors.ts';
import type { Params } from '../protocol/methods.ts';
import { build, protocolVersion } from '../protocol/version.ts';
import { validate } from './validate.ts';

/**
 * The params of hello, checked.
 * @throws RoostError `protocol/version`, `protocol/nonce`, `request/invalid`.
 */
export function checkHello(
  said: unknown,
  door: { readonly nonce: string; readonly directory: string },
): Params<'hello'> {
  // The version first: a hello of another major may have any shape.
  const major = majorOf(said);
  if (major !== null && major !== protocolVersion.major) {
    throw new RoostError(
      'protocol/version',
      `This sidecar (build ${build}) speaks protocol ${protocolVersion.major}, the client ${major}. ` +
        'Use the same version of Roost on both sides: reload the window, or end this sidecar with "roost shutdown".',
    );
  }
  const params = validate('hello', said);
  // Hashes have one length, and their comparison takes the same time wherever they differ.
  if (timingSafeEqual(hash(params.nonce), hash(door.nonce))) return params;
  throw new RoostError(
    'protocol/nonce',
    `That is not this sidecar's nonce. Read it from sidecar.json in ${door.directory} and connect again.`,
  );
}

const hash = (text: string): Buffer => createHash('sha256').update(text).digest();

function majorOf(said: unknown): number | null {
  if (typeof said !== 'object' || said === null) return null;
  const protocol: unknown = Reflect.get(said, 'protocol');
  if (typeof protocol !== 'object' || protocol === null) return null;
  const major: unknown = Reflect.get(protocol, 'major');
  return typeof major === 'number' ? major : null;
}
