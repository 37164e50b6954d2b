import type { signTransaction as job } from '#jobs/chain.ts';
import { signAndSend } from '#platform/solana/submission/transactions.ts';
import type { Handler } from './handler.ts';
import { kinds } from './transaction-types.ts';

/** Signs what is to land, commits it, and sends it. */
export const signTransaction: Handler<typeof job> = async (app, { id }) => await signAndSend(app, kinds, id);
