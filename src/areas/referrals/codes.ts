import { randomBytes } from 'node:crypto';

/** Crockford's base 32: without I, L, O and U, so that a code survives being read out and typed in. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const LENGTH = 8;

/** A random code; whoever stores it finds out whether it is taken. */
export function newCode(): string {
  return Array.from(randomBytes(LENGTH), (byte) => ALPHABET[byte % ALPHABET.length]).join('');
}

/** A code as it is stored, from whatever people type: any case, O for 0, I and L for 1. null for what can be no code. */
export function readCode(text: string): string | null {
  const code = text.trim().toUpperCase().replaceAll('O', '0').replaceAll(/[IL]/g, '1');
  return code.length === LENGTH && [...code].every((character) => ALPHABET.includes(character)) ? code : null;
}
