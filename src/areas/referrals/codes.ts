import { randomBytes } from 'node:crypto';

/** The digits and letters of Crockford's base 32. I, L, O and U are missing, so that people do not confuse letters with digits. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const LENGTH = 8;

/** Returns a random code. The code may exist already, so the caller must try again if the insert conflicts. */
export function newCode(): string {
  return Array.from(randomBytes(LENGTH), (byte) => ALPHABET[byte % ALPHABET.length]).join('');
}

/**
 * Normalizes a code that a person typed: accepts any case, O as 0, and I and L as 1.
 * @returns null when the text is not a valid code
 */
export function readCode(text: string): string | null {
  const code = text.trim().toUpperCase().replaceAll('O', '0').replaceAll(/[IL]/g, '1');
  return code.length === LENGTH && [...code].every((character) => ALPHABET.includes(character)) ? code : null;
}
