import type { App } from '../../../context.ts';
import type { Received, Verdict } from '../../../http/deliveries.ts';
import type { Tx } from '../../../tx.ts';

/** Credits what accounts did on the social network. */
export async function prepareEngagement(_app: App, _body: unknown, _received: Received): Promise<(tx: Tx) => Promise<Verdict>> {
  return async () => ({ outcome: 'failed', verdict: 'not worked on' });
}
