import { z } from 'zod';
import { Instant, Wallet } from '#lib/scalars.ts';
import { NONCE_LENGTH } from '#lib/sign-in/siws.ts';
import { TRANSPORTS } from '#platform/auth/session-record.ts';

const SignInInput = z
  .object({
    domain: z.string().meta({ description: 'Host and port of the page that requests the sign-in.', example: 'coinop.example' }),
    statement: z.string().meta({ example: 'Sign in to Coinop.' }),
    uri: z.string().meta({ example: 'https://coinop.example' }),
    version: z.literal('1'),
    chainId: z.string().meta({ example: 'solana:mainnet' }),
    nonce: z.string().length(NONCE_LENGTH).meta({ example: 'k3XhQ9vT2mZr7LwB5cNf8JpD' }),
    issuedAt: Instant,
    expirationTime: Instant,
  })
  .meta({ id: 'SignInInput', description: 'Input of a wallet’s `solana:signIn`.' });

export const SignInNonce = z
  .object({ nonce: z.string().length(NONCE_LENGTH), signInInput: SignInInput, expiresAt: Instant })
  .meta({ id: 'SignInNonce', description: 'A nonce and its sign-in input, valid for one sign-in within five minutes.' });

/**
 * The body contains either a signed text with its signature, or a signed transaction. `superRefine` rejects a body that contains both, and a body
 * that contains neither.
 */
export const SignInProof = z
  .strictObject({
    publicKey: Wallet,
    message: z
      .string()
      .min(1, 'must be the signed text or its base64')
      .max(4096)
      .optional()
      .meta({ description: 'The signed text, or the base64 of its UTF-8 bytes.' }),
    signature: z.string().max(128).optional().meta({ description: 'Signature of the text: 64 bytes, base58 or base64.' }),
    transaction: z
      .string()
      .min(1, 'must be the base64 of a signed transaction')
      .max(4096)
      .optional()
      .meta({
        description:
          'For hardware wallets, replaces message and signature: base64 of a signed legacy or version 0 transaction that can never land. ' +
          'publicKey is the only signer and fee payer, the blockhash is sha256("coinop/sign-in" ‖ nonce), and the only instruction passes the text to the memo ' +
          'program (MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr) without accounts.',
      }),
    transport: z
      .enum(TRANSPORTS)
      .default('cookie')
      .meta({ description: 'cookie: sets the session cookie. bearer: answers a session token, for a page of another site.', example: 'cookie' }),
  })
  .superRefine((proof, ctx) => {
    const refuse = (field: string, message: string) => ctx.addIssue({ code: 'custom', path: [field], message });
    if (proof.transaction === undefined) {
      if (proof.message === undefined) refuse('message', 'is required and must be the signed text (or transaction must be a signed transaction)');
      else if (proof.signature === undefined) refuse('signature', 'is required and must be the signature of message, base58 or base64');
    } else if (proof.message !== undefined || proof.signature !== undefined) {
      refuse('transaction', 'must not be combined with message and signature');
    }
  })
  .meta({
    id: 'SignInProof',
    example: {
      publicKey: '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin',
      message: 'coinop.example wants you to sign in with your Solana account:\n9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin\n\nSign in to Coinop.\n…',
      signature: '2ypcWzUuy8LZ6UaYYN4gWzsXQXWzvZ3tLQ1JkVdAXRq5bDDLH3Yfkq7dhWWvUwFv7kcYnnq2TtGKV8PJxjHhAmRz',
    },
  });
export type SignInProof = z.output<typeof SignInProof>;

export const SignedIn = z
  .object({
    wallet: Wallet,
    expiresAt: Instant.meta({
      description: 'Time at which the session ends if it is not used before. Each use extends the session. The session of a token is not extended.',
    }),
    banned: z.boolean().meta({
      description: 'Whether the wallet is banned. `sanctions` of the profile has the reason; `POST /me/appeals` answers it.',
      example: false,
    }),
    token: z
      .string()
      .optional()
      .meta({ description: 'The session token, a secret; only with `transport: "bearer"`.', example: `sess_${'Jx3vQ9'.repeat(7)}A` }),
  })
  .meta({ id: 'SignedIn' });

export const SocketTicket = z
  .object({ ticket: z.string().meta({ example: `${'k7Wm2p'.repeat(7)}Q` }), expiresAt: Instant })
  .meta({ id: 'SocketTicket', description: 'A ticket that opens one WebSocket within 30 seconds.' });

export const SignedOut = z.object({ signedOut: z.literal(true) }).meta({ id: 'SignedOut' });

const SessionId = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'must be an id of GET /me/sessions')
  .meta({
    description: 'Id of the session. It is neither the value of the cookie nor the token, and cannot be used to sign in.',
    example: '9f86d081884c7d65'.repeat(4),
  });

export const SessionPath = z.strictObject({ id: SessionId });

export const OwnSession = z
  .object({
    id: SessionId,
    createdAt: Instant,
    lastUsedAt: Instant.meta({ description: 'Time of the last use, up to an hour early.' }),
    lastExtendedAt: Instant.meta({ description: 'The same as `lastUsedAt`.', deprecated: true }),
    expiresAt: Instant,
    transport: z.enum(TRANSPORTS).meta({ description: 'cookie: the session cookie. bearer: a session token.' }),
    origin: z.string().nullable().meta({ description: 'The only origin that can use the session token; null for any.', example: null }),
    current: z.boolean().meta({ description: 'Whether this request uses the session.' }),
  })
  .meta({ id: 'OwnSession' });

export const Me = z
  .object({
    wallet: Wallet,
    eligible: z
      .boolean()
      .nullable()
      .meta({ description: 'Whether the wallet holds enough of the token; true when no token is configured; null when the balance is unknown.' }),
    tokenBalance: z.string().regex(/^\d+$/).nullable().meta({
      description: 'Token balance of the wallet, base units; null when no token is configured or the balance is unknown.',
      example: '2500000000',
    }),
    session: z.object({ createdAt: Instant, expiresAt: Instant, lastExtendedAt: Instant }),
  })
  .meta({ id: 'Me' });
