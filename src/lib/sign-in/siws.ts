/** Input of a wallet's `solana:signIn`. The service decides all fields. */
export interface SignInInput {
  /** Host and port of the page that requests the sign-in. */
  readonly domain: string;
  readonly statement: string;
  readonly uri: string;
  readonly version: '1';
  /** Name of the Solana cluster, for example `solana:mainnet`. */
  readonly chainId: string;
  readonly nonce: string;
  /** Time of the request, ISO 8601 in UTC, to the millisecond. */
  readonly issuedAt: string;
  readonly expirationTime: string;
}

/** Length of a nonce, characters. 24 random letters and digits have more than 142 bits of entropy. */
export const NONCE_LENGTH = 24;
const NONCE = new RegExp(`\\nNonce: ([A-Za-z0-9]{${NONCE_LENGTH}})\\n`);

/** Returns the text that a wallet signs for this input and address, as the Sign-In With Solana specification defines it. */
export function renderSignIn(input: SignInInput, address: string): string {
  return [
    `${input.domain} wants you to sign in with your Solana account:`,
    address,
    '',
    input.statement,
    '',
    `URI: ${input.uri}`,
    `Version: ${input.version}`,
    `Chain ID: ${input.chainId}`,
    `Nonce: ${input.nonce}`,
    `Issued At: ${input.issuedAt}`,
    `Expiration Time: ${input.expirationTime}`,
  ].join('\n');
}

/**
 * Extracts the nonce from a sign-in text. Returns null when the text has no nonce. The nonce only selects the stored row: the caller must still
 * compare the whole text.
 */
export function extractNonce(text: string): string | null {
  return NONCE.exec(text)?.[1] ?? null;
}
