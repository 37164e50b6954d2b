import type { FollowReport } from '../follows.ts';
import type { ParsedDelivery } from './parsed-delivery.ts';
import type { Engagement } from './pending-engagement.ts';

/** Maximum age of an event at its receipt, days. Older events are ignored, so that a replayed delivery cannot complete quests of today. */
const MAX_DAYS_LATE = 7;
const DAY_MS = 86_400_000;

/**
 * Selects from a delivery the engagements of other accounts with the arcade's account: follows, reposts and mentions. Gives each engagement a source
 * id that limits how often the engagement counts. A follow counts once per account. A repost counts once per account and original post. A mention
 * counts once per post. Also returns which accounts began or stopped to follow the arcade's account.
 * @param arcadeAccountId X id of the arcade's own account
 * @param receivedAt time of the delivery's receipt, ms since 1970
 */
export function evaluate(
  arcadeAccountId: string,
  { posts, follows, ignored }: ParsedDelivery,
  receivedAt: number,
): { readonly engagements: Engagement[]; readonly follows: FollowReport[]; readonly ignored: string[] } {
  const engagements: Engagement[] = [];
  const reports: FollowReport[] = [];
  const skipped = [...ignored];
  const isLate = (at: number) => receivedAt - at > MAX_DAYS_LATE * DAY_MS;
  for (const { source, target, following, at } of follows) {
    const event = following ? 'a follow' : 'an unfollow';
    if (target !== arcadeAccountId || source === arcadeAccountId) skipped.push(`${event} of another account`);
    else if (isLate(at)) skipped.push(`${event} older than ${MAX_DAYS_LATE} days`);
    else {
      // A time in the future would outweigh every later report.
      reports.push({ accountId: source, following, at: Math.min(at, receivedAt) });
      if (following) engagements.push({ kind: 'follow', accountId: source, sourceId: `x:${source}` });
    }
  }
  for (const { id, author, at, repostOf, mentions } of posts) {
    if (author === arcadeAccountId) skipped.push('a post of the arcade');
    else if (isLate(at)) skipped.push(`a post older than ${MAX_DAYS_LATE} days`);
    else if (repostOf) {
      if (repostOf.author === arcadeAccountId) engagements.push({ kind: 'repost', accountId: author, sourceId: `x:${author}:${repostOf.id}` });
      else skipped.push('a repost of another account');
    } else if (mentions.includes(arcadeAccountId)) engagements.push({ kind: 'mention', accountId: author, sourceId: `x:${id}` });
    else skipped.push('a post without a mention of the arcade');
  }
  return { engagements, follows: reports, ignored: skipped };
}
