/** A client of Coinop: typed calls, resumable events, sign-in with a Solana wallet. */
export type * as Api from './api.ts';
export { ApiError, type Client, type ClientOptions, createClient, ok } from './client.ts';
export { type Category, type EventOf, type EventsOptions, followEvents } from './events.ts';
export type { ApiResponse, Failure, Success } from './request.ts';
export type { RetryPolicy } from './retry-policy.ts';
export { signOut, withTicket } from './session.ts';
export { keypairSigner, type MessageSigner, type SignInOptions, type SignInWallet, signIn, type TransactionSigner } from './sign-in.ts';
export { memoryStore, type TokenStore } from './token-store.ts';
