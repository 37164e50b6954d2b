import { z } from 'zod';
import { XId } from '#platform/x/api.ts';
import { emptyDelivery, explicitMentions, Handle, MentionEntity, type ParsedDelivery, TextRange, XTime } from './parsed-delivery.ts';

/**
 * A user in a payload of the Account Activity API. In posts, `id` is a number with lost precision and `id_str` is exact; in follows, `id` is a
 * string.
 */
const User = z.union([
  z.looseObject({ id_str: XId, screen_name: Handle }).transform(({ id_str, screen_name }) => ({ id: id_str, handle: screen_name })),
  z
    .looseObject({ id: z.union([XId, z.int().positive().transform(String)]), screen_name: Handle })
    .transform(({ id, screen_name }) => ({ id, handle: screen_name })),
]);

const Mentions = z
  .looseObject({ user_mentions: z.array(MentionEntity) })
  .transform(({ user_mentions }) => user_mentions.filter((mention) => mention !== null));

const Tweet = z.looseObject({
  id_str: XId,
  created_at: XTime,
  user: User,
  display_text_range: TextRange,
  entities: Mentions.optional().catch(undefined),
  // Present for a long post; the other fields then contain only the beginning of the post.
  extended_tweet: z.looseObject({ display_text_range: TextRange, entities: Mentions }).optional().catch(undefined),
  edit_history: z.looseObject({ initial_tweet_id: XId }).optional().catch(undefined),
  retweeted_status: z.looseObject({ id_str: XId, user: User }).nullish(),
});

const Followed = z.looseObject({ type: z.string(), created_timestamp: XTime, source: User, target: User });

/**
 * Parses a delivery of the Account Activity API, which contains one list of events per kind. Ignores an unreadable event and parses the others.
 * @param receivedAt time for events that contain no time, ms since 1970
 */
export function parseAccountActivity(body: Readonly<Record<string, unknown>>, receivedAt: number): ParsedDelivery {
  const delivery = emptyDelivery();
  for (const [kind, events] of Object.entries(body)) {
    if (kind === 'for_user_id' || kind === 'user_has_blocked') continue;
    if (kind !== 'tweet_create_events' && kind !== 'follow_events') delivery.ignored.push(kind.slice(0, 64));
    else if (!Array.isArray(events)) delivery.ignored.push(`unreadable ${kind}`);
    else for (const event of events) (kind === 'follow_events' ? parseFollow : parsePost)(delivery, event, receivedAt);
  }
  return delivery;
}

function parsePost(delivery: ParsedDelivery, event: unknown, receivedAt: number): void {
  const parsed = Tweet.safeParse(event);
  if (!parsed.success) return void delivery.ignored.push('an unreadable post');
  const {
    id_str,
    created_at: at = receivedAt,
    user,
    display_text_range,
    entities = [],
    extended_tweet,
    edit_history,
    retweeted_status,
  } = parsed.data;
  const full = extended_tweet ?? { entities, display_text_range };
  addHandle(delivery, user, at);
  delivery.posts.push({
    id: edit_history?.initial_tweet_id ?? id_str,
    author: user.id,
    at,
    repostOf: retweeted_status ? { id: retweeted_status.id_str, author: retweeted_status.user.id } : null,
    mentions: explicitMentions(full.entities, full.display_text_range),
  });
}

function parseFollow(delivery: ParsedDelivery, event: unknown, receivedAt: number): void {
  const parsed = Followed.safeParse(event);
  if (!parsed.success) return void delivery.ignored.push('an unreadable follow');
  const { type, created_timestamp: at = receivedAt, source, target } = parsed.data;
  for (const user of [source, target]) addHandle(delivery, user, at);
  // Follows and unfollows are in the same list.
  if (type === 'follow' || type === 'unfollow') delivery.follows.push({ source: source.id, target: target.id, following: type === 'follow', at });
  else delivery.ignored.push(type.slice(0, 64));
}

function addHandle(delivery: ParsedDelivery, { id, handle }: z.output<typeof User>, at: number): void {
  if (handle !== undefined) delivery.handles.push({ accountId: id, handle, at });
}
