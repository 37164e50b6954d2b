import { catalogue } from '../../events/catalogue.ts';
import { streamsOf } from '../../events/stream.ts';
import { bitOf } from '../../events/window.ts';
import { reply, route, stream } from '../../http/route.ts';
import { categoriesOf, EventsQuery } from './schema.ts';

const TYPES = [...catalogue.values()].map((event) => `- \`${event.type}\` (${event.category}): ${event.summary}`).join('\n');

const events = route({
  method: 'get',
  path: '/events',
  auth: 'optional',
  summary: 'Follow events as they happen',
  description: `Server-Sent Events. Each message has \`id\`, \`event\` (its type) and \`data\`: JSON of \`{ type, category, at, … }\`. With a session the caller’s own events come too. Events of a category arrive in order. A client that connects again with the last id it saw gets what it missed; where that is not possible any more, the first message is \`reset\`, with links to the present state. Blocks with an \`id\` alone keep a quiet client’s id fresh. Connections end now and then, at the latest after about ten minutes; connect again.\n\n${TYPES}`,
  query: EventsQuery,
  returns: { 200: stream('text/event-stream') },
  fails: [],
  handler: async ({ app, query, wallet, ctx }) => {
    const mask = categoriesOf(query.categories).reduce((bits, category) => bits | bitOf(category), 0);
    const lastEventId = ctx.get('Last-Event-ID') || query.lastEventId || null;
    const sessionId: string | null = wallet === null ? null : ctx.state.sessionId;
    const begin = await streamsOf(app).open({ mask, wallet, sessionId, lastEventId });
    return reply(200, begin, { 'Cache-Control': 'no-store, no-transform', 'X-Accel-Buffering': 'no', Connection: 'close' });
  },
});

export const eventRoutes = { public: [events] };
