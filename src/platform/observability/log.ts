import { type Logger, pino } from 'pino';
import type { Config } from '#config';

export type { Logger };

/** Structured logs on stdout, one JSON object a line. What may hold a secret is never put into one. */
export function openLog(config: Config, process: string): Logger {
  return pino({
    level: config.logLevel,
    base: { process },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths: ['*.authorization', '*.cookie', '*.secret', '*.token'], censor: '[redacted]' },
  });
}
