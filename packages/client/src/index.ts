/** A client of Coinop: typed calls, events that resume, sign-in with a Solana wallet. */
export type * as Api from './api.ts';
export { type Client, type ClientOptions, createClient, ok, Refused } from './client.ts';
export { type Category, type EventOf, type EventsOptions, followEvents } from './events.ts';
export type { Patience } from './patience.ts';
export type { Answer, Refusal, Success } from './request.ts';
export { keypairSigner, type MessageSigner, type SignInWallet, signIn, type TransactionSigner } from './sign-in.ts';
