// std/log/mod.ts: loggers that write to the console.
const LEVELS = { DEBUG: 10, INFO: 20, WARN: 30, ERROR: 40, CRITICAL: 50 };
type Level = keyof typeof LEVELS;

export class Logger {
  constructor(readonly loggerName = "default", public levelName: Level = "INFO") {}
  #say(level: Level, print: (...data: unknown[]) => void, message: unknown, args: unknown[]) {
    const value = typeof message === "function" ? message() : message;
    if (LEVELS[level] >= LEVELS[this.levelName]) print(value, ...args);
    return value;
  }
  debug = (message: unknown, ...args: unknown[]) => this.#say("DEBUG", console.debug, message, args);
  info = (message: unknown, ...args: unknown[]) => this.#say("INFO", console.info, message, args);
  warn = (message: unknown, ...args: unknown[]) => this.#say("WARN", console.warn, message, args);
  warning = this.warn;
  error = (message: unknown, ...args: unknown[]) => this.#say("ERROR", console.error, message, args);
  critical = (message: unknown, ...args: unknown[]) => this.#say("CRITICAL", console.error, message, args);
}

const loggers = new Map<string, Logger>();
export function getLogger(name = "default"): Logger {
  if (!loggers.has(name)) loggers.set(name, new Logger(name));
  return loggers.get(name)!;
}
export function setup(config: { loggers?: Record<string, { level?: Level }> }): void {
  for (const [name, { level }] of Object.entries(config.loggers ?? {})) {
    const logger = getLogger(name);
    if (level === "WARNING" as string) logger.levelName = "WARN";
    else if (level) logger.levelName = level;
  }
}
export const { debug, info, warn, warning, error, critical } = getLogger();
export const LogLevels = LEVELS;
