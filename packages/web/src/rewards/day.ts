const DAY_MS = 86_400_000;
const FORMAT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });

/** Returns the UTC day of an epoch, for people. */
export const dayOf = (epoch: number): string => FORMAT.format(new Date(epoch * DAY_MS));
