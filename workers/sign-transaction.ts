import type { signTransaction as job } from '../jobs/chain.ts';
import { signAndSend } from '../src/chain/transactions.ts';
import type { Handler } from './handler.ts';
import { kinds } from './kinds.ts';

/** Signs what is to land, commits it, and sends it. */
export const signTransaction: Handler<typeof job> = async (app, { id }) => await signAndSend(app, kinds, id);
