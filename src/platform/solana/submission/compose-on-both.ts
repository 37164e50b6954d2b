import { type App, AppStates, perApp } from '#platform/app.ts';
import type { CarriedTransactions, ComposeOutcome, TransactionDraft, TransactionType } from './transaction-type.ts';

/** Time after which composing is repeated when only the first RPC node shows the effect of a transaction, ms. */
const RETRY_MS = 5_000;

/** The application as it is when its only RPC node is the second one, with caches of its own; null without a second node. */
const secondView = perApp((app): App | null => {
  const { second } = app.chain;
  if (second === null) return null;
  const states = new AppStates();
  const view: App = { ...app, chain: Object.create(app.chain, { node: { value: second } }), state: (slot) => states.get(view, slot) };
  return view;
});

/**
 * Composes a transaction. The outcome `done` closes books, so it counts only if the second RPC node, when one is configured, shows the effect too.
 * Until then composing is repeated.
 */
export async function composeOnBoth(
  app: App,
  type: TransactionType,
  subject: string,
  claimed: CarriedTransactions | null = null,
): Promise<TransactionDraft | ComposeOutcome> {
  const composed = await type.compose(app, subject, claimed);
  const view = app.state(secondView);
  if (composed.do !== 'done' || view === null) return composed;
  const other = await type.compose(view, subject);
  if (other.do === 'done') return composed;
  return { do: 'wait', ms: RETRY_MS, reason: 'the first RPC node shows the effect of the transaction, and the second one does not show it yet' };
}
