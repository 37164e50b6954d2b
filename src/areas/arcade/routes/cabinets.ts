import { z } from 'zod';
import { reply, route } from '#platform/http/route.ts';
import { listCabinets } from '../cabinets.ts';
import { CabinetView } from '../schemas.ts';

const cabinets = route({
  method: 'get',
  path: '/arcade/cabinets',
  auth: 'public',
  summary: 'List the cabinets and the entities that control them',
  returns: { 200: z.array(CabinetView) },
  fails: [],
  cache: 'no-cache',
  handler: async ({ app }) => reply(200, await listCabinets(app.db)),
});

export const cabinetRoutes = [cabinets];
