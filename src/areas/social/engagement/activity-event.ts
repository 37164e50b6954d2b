import { z } from 'zod';
import { XHandle, XId } from '#platform/x/api.ts';
import { emptyDelivery, explicitMentions, Handle, MentionEntity, type ParsedDelivery, TextRange, XTime } from './parsed-delivery.ts';

/** Event types whose payload is a post. The type says why X sent the post. Only the post itself says whether it is a repost. */
const POSTS = new Set(['post.create', 'post.mention.create', 'post.reply.create', 'post.quote.create', 'post.repost.create']);

const PlainUser = z.looseObject({ id: XId, username: Handle });
/** A user in a payload of the X Activity API. In follows, the user is wrapped in `data`. */
const User = z.union([z.looseObject({ data: PlainUser }).transform(({ data }) => data), PlainUser]);

const Event = z.looseObject({
  event_type: z.string(),
  filter: z.looseObject({ user_id: XId }).optional().catch(undefined),
  payload: z.unknown(),
  includes: z
    .looseObject({
      users: z.array(User.nullable().catch(null)).optional().catch(undefined),
      tweets: z
        .array(z.looseObject({ id: XId, author_id: XId }).nullable().catch(null))
        .optional()
        .catch(undefined),
    })
    .optional()
    .catch(undefined),
});
type Event = z.output<typeof Event>;

const Mentions = z.looseObject({ mentions: z.array(MentionEntity) }).transform(({ mentions }) => mentions.filter((mention) => mention !== null));

const Post = z.looseObject({
  id: XId,
  author_id: XId,
  created_at: XTime,
  edit_history_tweet_ids: z.array(XId).optional().catch(undefined),
  referenced_tweets: z.array(z.looseObject({ type: z.string(), id: XId })).optional(),
  display_text_range: TextRange,
  entities: Mentions.optional().catch(undefined),
  // Present for a long post; the other fields then contain only the beginning of the post.
  note_tweet: z.looseObject({ entities: Mentions }).optional().catch(undefined),
});

const Followed = z.looseObject({ source: User, target: User });
const Renamed = z.looseObject({
  after: z
    .string()
    .transform((text) => text.replace(/^@/, ''))
    .pipe(XHandle),
});

/**
 * Parses a delivery of the X Activity API, which contains one event.
 * @param receivedAt time for an event that contains no time, such as a follow; ms since 1970
 */
export function parseActivityEvent(data: unknown, receivedAt: number): ParsedDelivery {
  const delivery = emptyDelivery();
  const parsed = Event.safeParse(data);
  if (!parsed.success) return { ...delivery, ignored: ['an unreadable event'] };
  const event = parsed.data;
  const type = event.event_type.slice(0, 64);
  for (const user of event.includes?.users ?? []) if (user) addHandle(delivery, user, receivedAt);
  if (POSTS.has(type)) parsePost(delivery, event, receivedAt);
  else if (type === 'follow.follow' || type === 'follow.unfollow') parseFollow(delivery, event, receivedAt);
  else if (type === 'profile.update.handle') parseRename(delivery, event, receivedAt);
  else delivery.ignored.push(type);
  return delivery;
}

function parsePost(delivery: ParsedDelivery, event: Event, receivedAt: number): void {
  const parsed = Post.safeParse(event.payload);
  if (!parsed.success) return void delivery.ignored.push(`an unreadable ${event.event_type}`);
  const {
    id,
    author_id,
    created_at: at = receivedAt,
    edit_history_tweet_ids,
    referenced_tweets = [],
    display_text_range,
    entities = [],
    note_tweet,
  } = parsed.data;
  const subscribed = event.filter?.user_id ?? null;
  const original = referenced_tweets.find(({ type }) => type === 'retweeted');
  // X sends a repost event to the author of the original post, so the author is the subscribed user. X does not always include the original post in
  // the event.
  const originalAuthor =
    event.event_type === 'post.repost.create' ? subscribed : event.includes?.tweets?.find((tweet) => tweet?.id === original?.id)?.author_id;
  const mentions = explicitMentions(note_tweet?.entities ?? entities, display_text_range);
  delivery.posts.push({
    id: edit_history_tweet_ids?.[0] ?? id,
    author: author_id,
    at,
    repostOf: original ? { id: original.id, author: originalAuthor ?? null } : null,
    mentions: event.event_type === 'post.mention.create' && subscribed !== null ? [subscribed, ...mentions] : mentions,
  });
}

function parseFollow(delivery: ParsedDelivery, event: Event, at: number): void {
  const parsed = Followed.safeParse(event.payload);
  if (!parsed.success) return void delivery.ignored.push(`an unreadable ${event.event_type}`);
  const { source, target } = parsed.data;
  for (const user of [source, target]) addHandle(delivery, user, at);
  delivery.follows.push({ source: source.id, target: target.id, following: event.event_type === 'follow.follow', at });
}

function parseRename(delivery: ParsedDelivery, event: Event, at: number): void {
  const parsed = Renamed.safeParse(event.payload);
  const accountId = event.filter?.user_id;
  if (!parsed.success || accountId === undefined) return void delivery.ignored.push(`an unreadable ${event.event_type}`);
  delivery.handles.push({ accountId, handle: parsed.data.after, at });
}

function addHandle(delivery: ParsedDelivery, { id, username }: z.output<typeof PlainUser>, at: number): void {
  if (username !== undefined) delivery.handles.push({ accountId: id, handle: username, at });
}
