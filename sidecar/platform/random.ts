// Chance, for the runtime's jitter and for names that nobody may guess.

import { randomBytes, randomUUID } from 'node:crypto';

import type { Random } from '../ports.ts';

/** The Random port: good enough for jitter, not for secrets. */
export const systemRandom: Random = { next: () => Math.random() };

/** 256 bits that nobody can guess, as 64 hexadecimal digits: the nonce that opens the sidecar's door. */
export const newNonce = (): string => randomBytes(32).toString('hex');

/** A client key: names one wish, so that asking twice does it once. */
export const newKey = (): string => randomUUID();
