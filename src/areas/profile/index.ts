/** The door of profile: what a wallet has, in either mode, and how beta points become regular ones. */
export { holdingsOf, type PointsOf, pointsOf } from './breakdown.ts';
export { type Conversion, convertBeta } from './convert.ts';
