import { cabinetRoutes } from './cabinets.ts';
import { ownScoreRoutes } from './own-scores.ts';
import { playRoutes } from './plays.ts';
import { recordRoutes } from './records.ts';
import { registryRoutes } from './registry.ts';
import { replayRoutes } from './replays.ts';
import { scoreRoutes } from './scores.ts';
import { stateRoutes } from './states.ts';

/** The endpoints of the arcade, grouped by the callers that may use them. */
export const arcadeRoutes = {
  public: [...registryRoutes, ...cabinetRoutes, ...ownScoreRoutes.public, ...replayRoutes.public],
  session: [...playRoutes, ...stateRoutes, ...recordRoutes, ...scoreRoutes.session, ...ownScoreRoutes.session],
  admin: [...scoreRoutes.admin, ...replayRoutes.admin],
};
