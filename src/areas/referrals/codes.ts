import { randomBytes } from 'node:crypto';

/** Crockford's base 32: it has no I, L, O and U, so that people do not confuse letters with digits. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const LENGTH = 8;

/** Returns a random code. The caller must handle a conflict with an existing code when it inserts the code. */
export function newCode(): string {
  return Array.from(randomBytes(LENGTH), (byte) => ALPHABET[byte % ALPHABET.length]).join('');
}

/** Normalizes a typed code: any case, O as 0, I and L as 1. @returns null when the text is not a valid code */
export function readCode(text: string): string | null {
  const code = text.trim().toUpperCase().replaceAll('O', '0').replaceAll(/[IL]/g, '1');
  return code.length === LENGTH && [...code].every((character) => ALPHABET.includes(character)) ? code : null;
}
