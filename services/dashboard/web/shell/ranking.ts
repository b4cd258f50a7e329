/** Which entries of the palette come first. Pure. */

export interface Ranked {
  id: string;
  label: string;
  /** An object of the platform rather than of the project: found last, unless it is named whole. */
  isOfPlatform?: boolean;
  /** It was found by its text: its label need not have the words, and it comes last. */
  isFoundByText?: boolean;
}

/** Return the entries that have every word, the best first: whole labels, then beginnings, then others; recent ones before others. */
export function ranked<T extends Ranked>(entries: readonly T[], text: string, recent: readonly string[]): T[] {
  const typed = text.trim().toLowerCase();
  const words = typed.split(/\s+/).filter(Boolean);
  const scored = entries.flatMap((entry) => {
    const label = entry.label.toLowerCase();
    const hasWords = words.every((word) => label.includes(word));
    if (!hasWords && !entry.isFoundByText) return [];
    const place = recent.indexOf(entry.id);
    return [{
      entry,
      rank: hasWords ? rankOf(label, typed, entry.isOfPlatform ?? false) : byText,
      recent: place < 0 ? Infinity : place,
    }];
  });
  return scored
    .sort((a, b) => a.rank - b.rank || (a.recent === b.recent ? 0 : a.recent - b.recent))
    .map(({ entry }) => entry);
}

const whole = 0;
const wholeOfPlatform = 1;
/** The name of a column or of a setting, behind what it belongs to. */
const ownName = 2;
const beginning = 3;
const beginningOfWord = 4;
const inside = 5;
const ofPlatform = 6;
const byText = 12;

function rankOf(label: string, typed: string, isOfPlatform: boolean): number {
  if (typed === "") return whole;
  if (label === typed) return isOfPlatform ? wholeOfPlatform : whole;
  const rank = label.endsWith(`.${typed}`)
    ? ownName
    : label.startsWith(typed)
    ? beginning
    : new RegExp(`[\\s._:@-]${typed.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}`).test(label)
    ? beginningOfWord
    : inside;
  return isOfPlatform ? rank + ofPlatform : rank;
}
