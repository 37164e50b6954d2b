import { z } from 'zod';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { type Approval, needsApproval, requestApproval } from '#platform/auth/approvals.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { type ConversionOutcome, convertBeta, readConversion } from './convert.ts';

/** A conversion that a second token must approve. `points`: the regular points that the conversion gave when it was requested. */
const ConversionAction = z.object({ action: z.literal('convert'), wallet: z.string(), rate: z.string(), points: z.string() });

/**
 * Converts the beta points of a wallet, or requests an approval when the resulting points, with those that the token gave on the same day, are above the
 * configured amount.
 * @throws 409 when the beta points grow during the request, and otherwise as `convertBeta`
 */
export async function convertOrRequest(
  app: App,
  tx: Tx,
  { wallet, rate, by }: { wallet: string; rate: string; by: string },
): Promise<{ readonly approval: Approval } | { readonly converted: ConversionOutcome }> {
  // Reads the points before it locks the wallet, because all actions lock the sum of the token before a wallet.
  const { betaTotal, points } = await readConversion(tx, { wallet, rate });
  const action = { kind: 'grant', amount: points, by } as const;
  if (!(await needsApproval(app, tx, action))) {
    const converted = await convertBeta(tx, { wallet, rate, by });
    if (app.config.approvals.grant !== null && BigInt(converted.points) > points)
      throw fail(409, 'the beta points of the wallet grew during the request; send it again');
    return { converted };
  }
  const payload: z.output<typeof ConversionAction> = { action: 'convert', wallet, rate, points: String(points) };
  const summary = `conversion of ${betaTotal} beta points of ${wallet} into ${points} points`;
  return { approval: await requestApproval(tx, { ...action, summary, payload }) };
}

/**
 * Carries out an approved conversion.
 * @param by the names of both tokens
 * @throws 409 when the conversion does not give the requested points any more, and otherwise as `convertBeta`
 */
export async function convertApproved(tx: Tx, payload: unknown, by: string): Promise<void> {
  const { wallet, rate, points } = ConversionAction.parse(payload);
  const converted = await convertBeta(tx, { wallet, rate, by });
  if (String(converted.points) !== points)
    throw fail(409, `the conversion gives ${converted.points} points and not the requested ${points} points; request it again`);
}
