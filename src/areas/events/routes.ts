import { z } from 'zod';
import { listCabinets, loadGames, readTheme } from '#areas/arcade';
import { BurnPath, readEvent } from '#areas/burns';
import { openQuests, presentQuest, QuestView } from '#areas/quests';
import { eventTypes } from '#areas/registry.ts';
import { PageQuery } from '#lib/paging.ts';
import { requestSessionKey } from '#platform/auth/sessions.ts';
import { bitOf } from '#platform/events/replay-buffer.ts';
import { streamsOf } from '#platform/events/sse.ts';
import { MAX_STREAMS_PER_WALLET } from '#platform/events/stream-shares.ts';
import { reply, route, stream } from '#platform/http/route.ts';
import { listActiveEvents } from './active-events.ts';
import { lobby } from './lobby.ts';
import { ArcadeState, categoriesOf, EventsQuery } from './schemas.ts';

const TYPES = [...eventTypes.values()].map((event) => `- \`${event.type}\` (${event.category}): ${event.summary}`).join('\n');

const events = route({
  method: 'get',
  path: '/events',
  auth: 'optional',
  // `streamsOf` bounds the streams.
  load: 'none',
  summary: 'Stream events',
  description: `Server-Sent Events. Each message has \`id\`, \`event\` (its type) and \`data\`: JSON of \`{ type, category, at, … }\`. With a session, the stream includes the events for the caller’s wallet. Events of a category arrive in order. A client that reconnects with its last id receives the events that it missed. If the service no longer has them, the first message is \`reset\`, with links to the current state. Messages that contain only an \`id\` update the last id of a client that receives no events. The service closes a connection after at most about ten minutes; connect again. A stream with a session ends within a second after the session ends. A wallet may have ${MAX_STREAMS_PER_WALLET} streams (429); when the streams of a process are used up, a new one gets a 503.\n\n${TYPES}`,
  query: EventsQuery,
  returns: { 200: stream('text/event-stream') },
  fails: [429],
  handler: async ({ app, query, wallet, ctx }) => {
    const mask = categoriesOf(query.categories).reduce((bits, category) => bits | bitOf(category), 0);
    const lastEventId = ctx.get('Last-Event-ID') || query.lastEventId || null;
    const begin = await streamsOf(app).open({ mask, wallet, sessionKey: requestSessionKey(ctx), lastEventId });
    return reply(200, begin, { 'Cache-Control': 'no-store, no-transform', 'X-Accel-Buffering': 'no', Connection: 'close' });
  },
});

const arcadeState = route({
  method: 'get',
  path: '/arcade/state',
  auth: 'public',
  summary: 'Read the theme, the active events and the numbers of games and cabinets',
  returns: { 200: ArcadeState },
  fails: [],
  cache: 'no-cache',
  handler: async ({ app }) => {
    const [{ theme, version }, activeEvents, cabinets, games] = await Promise.all([
      readTheme(app.db),
      listActiveEvents(app.db),
      listCabinets(app.db),
      loadGames(app),
    ]);
    return reply(200, {
      theme,
      themeVersion: version,
      activeEvents,
      arcade: {
        name: 'Coinop',
        games: games.size,
        categories: [...new Set([...games.values()].map((game) => game.category))].sort(),
        cabinets: cabinets.length,
        possessed: cabinets.filter((cabinet) => cabinet.status === 'possessed').length,
      },
    });
  },
});

const burnQuests = route({
  method: 'get',
  path: '/events/burn/{id}/quests',
  auth: 'public',
  summary: 'List the quests of a burn event',
  description: 'Lists only quests that can be completed now.',
  params: BurnPath,
  query: PageQuery,
  returns: { 200: z.array(QuestView) },
  fails: [404],
  cache: 'no-cache',
  handler: async ({ app, params, query: { limit, offset } }) => {
    const { id } = await readEvent(app.db, params.id);
    const quests = await openQuests(app, { burnEventId: id });
    return reply(200, quests.slice(offset, offset + limit).map(presentQuest), { 'X-Total-Count': String(quests.length) });
  },
});

export const eventRoutes = { public: [events, arcadeState, burnQuests, lobby] };
