/** The public API of profile: the points of a wallet in both modes, and the conversion of beta points. */
export { convertApproved } from './approved-conversion.ts';
export { modePointsOf, readHoldings } from './breakdown.ts';
export { convertBeta, revokeConversion } from './convert.ts';
export { readBreakdown } from './present.ts';
export { PointsBreakdown } from './schemas.ts';
