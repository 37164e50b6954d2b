import type { SignedIn, SignInInput, SignInProof } from './api.ts';
import { type Client, ok } from './client.ts';
import { addressBytes, base58, base64, fromBase64url } from './encoding.ts';

/** The result of a wallet's feature `solana:signIn`. */
interface SignInOutput {
  readonly account: { readonly address: string };
  readonly signedMessage: Uint8Array;
  readonly signature: Uint8Array;
}
/** A wallet with the method `signIn`: the feature `solana:signIn` of the Wallet Standard, or a wallet adapter. */
export interface SignInWallet {
  signIn(input: SignInInput): Promise<SignInOutput | readonly SignInOutput[]>;
}
/** A wallet or key that signs messages. `signMessage` returns the 64 bytes of an ed25519 signature. */
export interface MessageSigner {
  /** Base58 of the public key. */
  readonly address: string;
  signMessage(message: Uint8Array): Uint8Array | Promise<Uint8Array>;
}
/**
 * A wallet that signs only transactions, such as a hardware wallet. `signTransaction` gets a transaction that the chain can never accept, and returns
 * the signed transaction.
 */
export interface TransactionSigner {
  readonly address: string;
  signTransaction(transaction: Uint8Array): Uint8Array | Promise<Uint8Array>;
}

export interface SignInOptions {
  /**
   * cookie (default): the client or the browser stores the session cookie. bearer: the client stores a session token, for pages of other sites, where
   * browsers block cookies. The session of a token ends after 24 hours.
   */
  readonly transport?: 'cookie' | 'bearer';
}

/**
 * Signs a wallet in: requests the sign-in input (the data to sign) from the service, lets the wallet sign this input, and creates the session.
 * @returns the address of the wallet, and the time at which the session ends
 * @throws ApiError when the service rejects the proof (the signed input); and any error of the wallet, for example when the user declines
 */
export async function signIn(
  client: Client,
  wallet: SignInWallet | MessageSigner | TransactionSigner,
  { transport = 'cookie' }: SignInOptions = {},
): Promise<SignedIn> {
  const { body } = await ok(client.post('/auth/nonce'));
  const proof = await proofOf(body.signInInput, wallet);
  // The client sends no cookies while it has a token, so the browser would ignore the cookie of the response.
  if (transport === 'cookie') client.tokenStore.set(null);
  // A service of an earlier release refuses the field `transport`, so a request for the default leaves it out.
  const { body: signedIn } = await ok(client.post('/auth/verify', { body: transport === 'cookie' ? proof : { ...proof, transport } }));
  if (signedIn.token !== undefined) client.tokenStore.set(signedIn.token);
  return signedIn;
}

async function proofOf(input: SignInInput, wallet: SignInWallet | MessageSigner | TransactionSigner): Promise<SignInProof> {
  if ('signIn' in wallet) {
    const outputs = await wallet.signIn(input);
    const output = 'account' in outputs ? outputs : outputs[0];
    if (!output) throw new TypeError('the wallet returned no result');
    return { publicKey: output.account.address, message: base64(output.signedMessage), signature: base64(output.signature) };
  }
  const { address } = wallet;
  const text = signInText(input, address);
  const bytes = new TextEncoder().encode(text);
  if ('signMessage' in wallet) return { publicKey: address, message: text, signature: base64(await wallet.signMessage(bytes)) };
  const transaction = await signInTransaction(address, input.nonce, bytes);
  return { publicKey: address, transaction: base64(await wallet.signTransaction(transaction)) };
}

/** Returns the text to sign, in the format of Sign-In With Solana. */
const signInText = (input: SignInInput, address: string): string =>
  [
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

const MEMO_PROGRAM = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';

/** Returns an unsigned transaction with one memo and a blockhash that no block has, in Solana's legacy wire format. */
async function signInTransaction(address: string, nonce: string, memo: Uint8Array): Promise<Uint8Array> {
  const blockhash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(`coinop/sign-in${nonce}`));
  const signatures = [1, ...new Uint8Array(64)];
  // The first three numbers are the header of the message: one signer, no read-only signers and one read-only account (the memo program). The number
  // of accounts (2) and their addresses follow.
  const accounts = [1, 0, 1, 2, ...addressBytes(address), ...addressBytes(MEMO_PROGRAM)];
  const instruction = [1, 1, 0, ...shortLength(memo.length), ...memo];
  return Uint8Array.from([...signatures, ...accounts, ...new Uint8Array(blockhash), ...instruction]);
}

/** Encodes a compact-u16: seven bits per byte, lowest bits first. */
const shortLength = (length: number): number[] => (length < 128 ? [length] : [(length & 127) | 128, ...shortLength(length >> 7)]);

/** The bytes that precede the 32 bytes of an ed25519 secret key in PKCS #8. */
const PKCS8 = [48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 112, 4, 34, 4, 32];

/**
 * Returns a signer for a secret key, for bots and scripts.
 * @param secret the 32 bytes of the secret key, or the 64 bytes that solana-keygen writes: the secret key, then the public key
 */
export async function keypairSigner(secret: Uint8Array): Promise<MessageSigner> {
  if (secret.length !== 32 && secret.length !== 64) throw new TypeError('a secret key must be 32 or 64 bytes');
  const pkcs8 = Uint8Array.from([...PKCS8, ...secret.subarray(0, 32)]);
  const key = await crypto.subtle.importKey('pkcs8', pkcs8, 'Ed25519', true, ['sign']);
  const { x = '' } = await crypto.subtle.exportKey('jwk', key);
  return {
    address: base58(fromBase64url(x)),
    signMessage: async (message) => new Uint8Array(await crypto.subtle.sign('Ed25519', key, Uint8Array.from(message))),
  };
}
