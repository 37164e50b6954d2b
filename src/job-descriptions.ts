import { describeRounds, describeTickets } from '#areas/lottery';
import { describeClaims, describeEpochs } from '#areas/rewards';
import { jobs } from '#jobs/index.ts';
import type { Submission } from '#jobs/scores.ts';
import { type DescribedJob, describedJob, type JobDescription } from '#platform/jobs/description.ts';
import { describeTransactions } from '#platform/solana/submission/index.ts';
import { describeDeliveries } from '#platform/webhooks/job-description.ts';

/** Maximum wallets that the description of a batch of scores names. */
const MAX_NAMED_WALLETS = 3;

/** Describes a batch of scores by its games and wallets. */
function describeScores({ submissions }: { submissions: readonly Submission[] }): JobDescription {
  const games = [...new Set(submissions.map(({ gameId }) => gameId))];
  const wallets = [...new Set(submissions.map(({ wallet }) => wallet))];
  const more = wallets.length - MAX_NAMED_WALLETS;
  const named = wallets.slice(0, MAX_NAMED_WALLETS).join(', ');
  const scores = submissions.length === 1 ? '1 score' : `${submissions.length} scores`;
  return { about: `${scores} in ${games.join(', ')} of ${named}${more > 0 ? ` and ${more} more` : ''}`, route: 'get /admin/scores' };
}

/** The descriptions of all jobs that have a subject. The other jobs are sweeps, whose name says everything. */
export const jobDescriptions: readonly DescribedJob[] = [
  describedJob(jobs.recordScores, async () => describeScores),
  describedJob(jobs.signCommitment, describeTransactions),
  describedJob(jobs.signRoot, describeTransactions),
  describedJob(jobs.signPayout, describeTransactions),
  describedJob(jobs.signClaim, describeClaims),
  describedJob(jobs.computeEpoch, describeEpochs),
  describedJob(jobs.processWebhook, describeDeliveries),
  describedJob(jobs.advanceRound, describeRounds),
  describedJob(jobs.checkTicket, describeTickets),
  describedJob(jobs.rebuildBoard, async () => ({ board }) => ({ about: `board ${board}` })),
  describedJob(jobs.applyBan, async () => ({ wallet }) => ({ about: `wallet ${wallet}`, route: 'get /admin/wallets/{wallet}' })),
];
