import { z } from 'zod';
import { Id, Instant } from '#lib/scalars.ts';
import { type Approval, approvalExpiry } from './approvals.ts';
import { APPROVAL_KINDS } from './config.ts';

export const APPROVAL_STATES = ['pending', 'approved', 'refused'] as const;

export const ApprovalView = z
  .strictObject({
    approvalId: Id,
    kind: z.enum(APPROVAL_KINDS).meta({
      description:
        'import: an import of an epoch. grant: points for a wallet, a conversion of beta points or the completion of a quest. limit: pool or cap of the reward rules.',
      example: 'import',
    }),
    status: z.enum(APPROVAL_STATES).meta({ description: 'approved: the action was carried out.', example: 'pending' }),
    amount: z.string().meta({ description: 'Amount of the action: base units, or points for a grant.', example: '250000000000' }),
    summary: z.string().meta({ description: 'What the action does.', example: 'import of epoch 20777: 1200 wallets, 250000000000 base units' }),
    requestedBy: z.string().meta({ description: 'Name of the token that requested the action.', example: 'admin-1' }),
    requestedAt: Instant,
    expiresAt: Instant.meta({ description: 'Time after which the action can no longer be approved.' }),
    decidedBy: z.string().nullable().meta({ description: 'Name of the token that approved or refused the action.', example: null }),
    decidedAt: Instant.nullable().meta({ example: null }),
  })
  .meta({ id: 'Approval' });

/** Converts an approval to the form that the API returns. */
export function presentApproval(approval: Approval): z.output<typeof ApprovalView> {
  const { id, kind, state, amount, summary, requestedBy, requestedAt, decidedBy, decidedAt } = approval;
  return {
    approvalId: id,
    kind,
    status: state,
    amount,
    summary,
    requestedBy,
    requestedAt,
    expiresAt: approvalExpiry(approval),
    decidedBy,
    decidedAt,
  };
}
