/** With the `u` flag a surrogate is matched only where it stands alone. */
const LONE_SURROGATE = /\p{Surrogate}/gu;

const native = (String.prototype as { toWellFormed?: () => string }).toWellFormed;

/** The text with every lone surrogate replaced by U+FFFD, so that it survives UTF-8; the same text when it has none. */
export const wellFormed: (text: string) => string =
  native === undefined ? replaceLoneSurrogates : (text) => native.call(text);

/** What {@link wellFormed} does on hosts that have no such method. */
function replaceLoneSurrogates(text: string): string {
  return text.replace(LONE_SURROGATE, "\uFFFD");
}

/** The first `length` UTF-16 units of `text`, one fewer where that would cut a code point in two. */
export function cutText(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = length > 0 ? text.charCodeAt(length - 1) : 0;
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}
