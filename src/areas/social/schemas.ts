import { z } from 'zod';
import { Instant } from '#lib/scalars.ts';

const Platform = z.literal('x').default('x').meta({ description: 'Social network.' });

export const LinkStartRequest = z
  .strictObject({
    platform: Platform,
    method: z.enum(['oauth', 'challenge']).default('oauth').meta({ description: 'oauth: sign in to the network. challenge: post a text there.' }),
  })
  .meta({ id: 'LinkStartRequest', example: { platform: 'x', method: 'oauth' } });

export const LinkStart = z
  .strictObject({
    platform: z.literal('x'),
    method: z.enum(['oauth', 'challenge']).meta({ example: 'oauth' }),
    url: z.string().meta({
      description:
        'URL to open: for oauth the sign-in page, which redirects back with `code` and `state`; for challenge the form of a new post with the text filled in.',
      example: 'https://x.com/i/oauth2/authorize?response_type=code&client_id=M1M5R3BMVy13QmpScXkzTUt5OE46MTpjaQ',
    }),
    state: z.string().nullable().meta({
      description: 'oauth only: the state that the network returns. Only this wallet can use it, once.',
      example: 'q0m9oZ1V3n2x8t5Yb7c4d6e1f0g2h3i4j5k6l7m8n9o',
    }),
    challenge: z.string().nullable().meta({ description: 'challenge only: the text that the post must begin with.', example: null }),
    expiresAt: Instant.meta({ description: 'Time until which the link can be verified, ten minutes after the start.' }),
  })
  .meta({ id: 'LinkStart' });

/** The URL of a post. Only the digits of the post's id are used. */
const POST_URL = /^https:\/\/(?:www\.|mobile\.)?(?:x|twitter)\.com\/(?:\w{1,32}|i\/web|i)\/status(?:es)?\/(\d{1,20})(?:[/?#].*)?$/i;

const text = (max: number) =>
  z
    .string()
    .min(1, 'must not be empty')
    .max(max, `must be at most ${max} characters`)
    .regex(/^[\x21-\x7e]+$/, 'must be printable characters without spaces');

/** The body contains either `code` and `state`, or a post (`postUrl` or `postId`). The transform checks that exactly one of these is present. */
export const LinkVerifyRequest = z
  .strictObject({
    platform: Platform,
    code: text(1_024).optional().meta({ description: 'Code that the network returned, with `state`.' }),
    state: text(128).optional().meta({ description: 'State from `start`, as the network returned it.' }),
    postUrl: text(512)
      .regex(POST_URL, 'must be the URL of a post, such as https://x.com/coinop/status/1234567890')
      .optional()
      .meta({ description: 'URL of the post with the challenge; replaces code and state.' }),
    postId: z
      .string()
      .regex(/^\d{1,20}$/, 'must be the id of a post, 1 to 20 digits')
      .optional()
      .meta({ description: 'Id of the post with the challenge; replaces postUrl.' }),
  })
  .transform(({ code, state, postUrl, postId }, ctx) => {
    const refuse = (field: string, message: string) => {
      ctx.addIssue({ code: 'custom', path: [field], message });
      return z.NEVER;
    };
    const post = postId ?? (postUrl === undefined ? undefined : POST_URL.exec(postUrl)?.[1]);
    if (post === undefined) {
      if (code === undefined) return refuse('code', 'is required and must be the code from the network (or postUrl or postId must name a post)');
      if (state === undefined) return refuse('state', 'is required and must be the state from start');
      return { code, state };
    }
    if (postId !== undefined && postUrl !== undefined) return refuse('postId', 'must not be combined with postUrl');
    if (code !== undefined || state !== undefined) return refuse('code', 'and state must not be combined with a post');
    return { postId: post };
  })
  .meta({
    id: 'LinkVerifyRequest',
    example: { code: 'VGNibzFWSWREZm01bjN1N3dicWlNUG1oa2xRRVNNdmVHelJGY2hPWGxNd2dx', state: 'q0m9oZ1V3n2x8t5Yb7c4d6e1f0g2h3i4j5k6l7m8n9o' },
  });

/** The query with which X redirects to the page of the service. */
export const LinkRedirectQuery = z.object({
  code: text(1_024).optional().meta({ description: 'Code that X returned.' }),
  state: text(128).optional().meta({ description: 'State from `start`, as X returned it.' }),
  error: z.string().optional().meta({ description: 'Reason why X returned no code, for example that the person refused.', example: 'access_denied' }),
});

export const Link = z
  .strictObject({
    platform: z.string().meta({ example: 'x' }),
    accountId: z.string().meta({ description: 'Permanent id of the account.', example: '2244994945' }),
    handle: z.string().meta({ description: 'Current handle.', example: 'coinop' }),
    linkedAt: Instant,
  })
  .meta({ id: 'Link' });

export const LinkPath = z.object({
  platform: z
    .string()
    .regex(/^[a-z0-9-]{1,32}$/, 'must be 1 to 32 lower-case letters, digits and hyphens')
    .meta({ description: 'The network of the linked account.', example: 'x' }),
});

export const CrcQuery = z.object({
  crc_token: z
    .string()
    .regex(/^[A-Za-z0-9_=+/.-]{1,128}$/, 'must be 1 to 128 of A-Z a-z 0-9 _ = + / . -')
    .meta({ description: 'Token that X wants signed.', example: '9b4507b3-9040-4669-9ca3-6b94edb50553' }),
});
export const CrcAnswer = z
  .strictObject({ response_token: z.string().meta({ example: 'sha256=RUErPnuSRuYzZ/VPzzoTsgNaYiFRMHTlaeEBGyXK9Oc=' }) })
  .meta({ id: 'CrcAnswer' });

/**
 * The body of a delivery of X. The schema does not check the events, because X would resend a refused delivery again and again. A worker parses the
 * events.
 */
export const XDelivery = z
  .looseObject({
    data: z
      .unknown()
      .optional()
      .meta({
        description: 'X Activity API: one event.',
        example: {
          event_uuid: '-7953119945885597316',
          event_type: 'follow.follow',
          filter: { user_id: '1111111111111111111' },
          payload: {
            source: { data: { id: '2222222222222222222', username: 'ada' } },
            target: { data: { id: '1111111111111111111', username: 'coinop' } },
          },
        },
      }),
    for_user_id: z.unknown().optional().meta({ description: 'Account Activity API: id of the subscribed user.' }),
    follow_events: z.unknown().optional().meta({ description: 'Account Activity API: list of events.' }),
    tweet_create_events: z.unknown().optional().meta({ description: 'Account Activity API: list of events.' }),
  })
  .meta({ id: 'XDelivery' });
