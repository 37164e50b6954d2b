import { z } from 'zod';

/** What a process is told about the social network. */
export const XEnvironment = {
  X_API_URL: z.url({ protocol: /^https?$/ }).default('https://api.x.com'),
};

/** The social network, and who we are there. @throws when it is told of incompletely */
export function xConfig(environment: z.infer<z.ZodObject<typeof XEnvironment>>, _production: boolean) {
  return { apiUrl: environment.X_API_URL };
}
