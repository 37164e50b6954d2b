import { z } from 'zod';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { type Approval, needsApproval, requestApproval } from '#platform/auth/approvals.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { applyMultiplier, maxMultiplier } from '../multiplier.ts';
import { type Quest, readQuest } from '../rows.ts';
import { completeManually, type Holdings } from '../wallet-quests.ts';

/** A completion that a second token must approve. `version`: the version of the quest when the completion was requested. */
const CompletionAction = z.object({
  action: z.literal('complete'),
  questId: z.string(),
  version: z.number(),
  wallet: z.string(),
  holdings: z.array(z.tuple([z.string(), z.object({ holding: z.boolean(), at: z.number() })])),
});

/**
 * Requests the approval of a completion by an operator whose points, with the highest multiplier and the points that the token gave on the same day, are
 * above the configured amount. Returns null when the completion needs no approval.
 */
export async function requestCompletionApproval(
  app: App,
  tx: Tx,
  { quest, wallet, holdings, by }: { quest: Quest; wallet: string; holdings: Holdings; by: string },
): Promise<Approval | null> {
  const amount = BigInt(applyMultiplier(quest.definition.points, maxMultiplier(app.config.chain.rewardMint !== null)));
  const action = { kind: 'grant', amount, by } as const;
  if (!(await needsApproval(app, tx, action))) return null;
  const payload: z.output<typeof CompletionAction> = {
    action: 'complete',
    questId: quest.id,
    version: quest.version,
    wallet,
    holdings: [...holdings].map(([address, { holding, at }]) => [address, { holding, at }]),
  };
  return await requestApproval(tx, { ...action, summary: `completion of the quest ${quest.id} for ${wallet}, at most ${amount} points`, payload });
}

/**
 * Carries out an approved completion. The multiplier counts the token balance of the time of the request.
 * @param by the names of both tokens
 * @throws 404 when the quest does not exist any more; 409 when it was changed since the request, or cannot be completed
 */
export async function completeApproved(tx: Tx, payload: unknown, by: string): Promise<void> {
  const { questId, version, wallet, holdings } = CompletionAction.parse(payload);
  const quest = await readQuest(tx, questId);
  if (quest.version !== version) throw fail(409, 'the quest was changed since the request; refuse the completion and request it again');
  await completeManually(tx, quest, wallet, by, new Map(holdings));
}
