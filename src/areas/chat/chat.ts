import type { App } from '../../context.ts';
import type { Received, Verdict } from '../../http/deliveries.ts';
import type { Tx } from '../../tx.ts';

/** Works on a message of a bridged chat. */
export async function prepareBridged(_app: App, _body: unknown, _received: Received): Promise<(tx: Tx) => Promise<Verdict>> {
  throw new Error('to be built');
}
