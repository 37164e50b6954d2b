import type { Told } from './parsed-delivery.ts';
import type { Deed } from './pending-engagement.ts';

/** What is told later than this counts for nothing: whoever replays what was long ago does not fill today's quests. */
export const MOST_DAYS_LATE = 7;
const DAY_MS = 86_400_000;

/**
 * What of that which a delivery tells counts: others follow, repost or mention the arcade's account. An account follows once for ever, and
 * reposts a post once, however often it takes that back; posts are told apart by their number.
 * @param us the arcade's account
 * @param receivedAt ms since 1970
 */
export function judge(us: string, { posts, follows, ignored }: Told, receivedAt: number): { readonly deeds: Deed[]; readonly ignored: string[] } {
  const deeds: Deed[] = [];
  const passed = [...ignored];
  const isLate = (at: number) => receivedAt - at > MOST_DAYS_LATE * DAY_MS;
  for (const { source, target, at } of follows) {
    if (target !== us || source === us) passed.push('a follow that is not of us');
    else if (isLate(at)) passed.push('a follow of long ago');
    else deeds.push({ kind: 'follow', accountId: source, sourceId: `x:${source}` });
  }
  for (const { id, author, at, repostOf, mentions } of posts) {
    if (author === us) passed.push('a post of our own');
    else if (isLate(at)) passed.push('a post of long ago');
    else if (repostOf) {
      if (repostOf.author === us) deeds.push({ kind: 'repost', accountId: author, sourceId: `x:${author}:${repostOf.id}` });
      else passed.push('a repost that is not of us');
    } else if (mentions.includes(us)) deeds.push({ kind: 'mention', accountId: author, sourceId: `x:${id}` });
    else passed.push('a post that does not name us');
  }
  return { deeds, ignored: passed };
}
