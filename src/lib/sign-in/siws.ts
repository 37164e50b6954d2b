/** What a wallet's `solana:signIn` takes; all of it is decided by the service. */
export interface SignInInput {
  /** Host and port of the page that asks. */
  readonly domain: string;
  readonly statement: string;
  readonly uri: string;
  readonly version: '1';
  /** `solana:mainnet`, … */
  readonly chainId: string;
  readonly nonce: string;
  /** ISO 8601, UTC, milliseconds. */
  readonly issuedAt: string;
  readonly expirationTime: string;
}

/** How many letters and digits a nonce has: 62^24 are 142 bits. */
export const NONCE_LENGTH = 24;
const NONCE = new RegExp(`\\nNonce: ([A-Za-z0-9]{${NONCE_LENGTH}})\\n`);

/** The text that a wallet makes of the input for an address, as Sign-In With Solana prescribes it. */
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
 * The nonce that a text seems to name, or null. It only says which row to render:
 * whether the text is right is decided by comparing all of it.
 */
export function nonceIn(text: string): string | null {
  return NONCE.exec(text)?.[1] ?? null;
}
