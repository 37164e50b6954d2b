const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** Encodes bytes as base58, as Solana does: each leading zero byte is written as a `1`. */
export function base58(bytes: Uint8Array): string {
  let number = 0n;
  for (const byte of bytes) number = number * 256n + BigInt(byte);
  let text = '';
  for (; number > 0n; number /= 58n) text = ALPHABET.charAt(Number(number % 58n)) + text;
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return '1'.repeat(zeros < 0 ? bytes.length : zeros) + text;
}

/** Returns the 32 bytes of an address. @throws TypeError when the text is not an address */
export function addressBytes(address: string): Uint8Array<ArrayBuffer> {
  let number = 0n;
  for (const letter of address) number = number * 58n + BigInt(ALPHABET.indexOf(letter));
  const bytes = new Uint8Array(32);
  for (let i = 31; i >= 0; i--, number >>= 8n) bytes[i] = Number(number & 255n);
  if (base58(bytes) !== address) throw new TypeError('an address must be the base58 of 32 bytes');
  return bytes;
}

export const base64 = (bytes: Uint8Array): string => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));

export const fromBase64url = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.charCodeAt(0));
