import { z } from 'zod';
import { convertApproved } from '#areas/profile';
import { completeApproved } from '#areas/quests';
import { putApprovedRules, refuseImport, startApprovedImport } from '#areas/rewards';
import type { DecidedAction } from '#platform/auth/approvals.ts';
import type { ApprovalKind } from '#platform/auth/config.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { adjustPoints } from '../ledger/adjust.ts';

/** Points that a second token must approve. */
const GrantAction = z.object({
  wallet: z.string(),
  points: z.number(),
  mode: z.enum(['regular', 'beta']),
  rewards: z.boolean(),
  reason: z.string(),
});
export type GrantAction = z.output<typeof GrantAction>;

/** The form of the payload of a grant: points of an operator, a conversion of beta points, or the completion of a quest. */
const GrantKind = z.object({ action: z.enum(['adjust', 'convert', 'complete']).default('adjust') });

interface Action {
  /** Carries the action out. Runs in the transaction that stores the approval. */
  approve(tx: Tx, action: DecidedAction): Promise<void>;
  /** Removes what the request stored. */
  refuse(tx: Tx, action: DecidedAction): Promise<void>;
}

/** What happens when an action of each kind is approved or refused. */
export const ACTIONS: Readonly<Record<ApprovalKind, Action>> = {
  import: {
    approve: (tx, { payload }) => startApprovedImport(tx, payload),
    refuse: (tx, { payload }) => refuseImport(tx, payload),
  },
  grant: {
    async approve(tx, { payload, requestedBy, decidedBy }) {
      const by = `${requestedBy}, approved by ${decidedBy}`;
      const { action } = GrantKind.parse(payload);
      if (action === 'convert') return await convertApproved(tx, payload, by);
      if (action === 'complete') return await completeApproved(tx, payload, by);
      const { wallet, reason, ...adjustment } = GrantAction.parse(payload);
      await adjustPoints(tx, wallet, adjustment, { by, note: reason });
    },
    refuse: async () => undefined,
  },
  limit: {
    approve: (tx, { payload }) => putApprovedRules(tx, payload),
    refuse: async () => undefined,
  },
};
