import { describe, expect, it } from "vitest";

// The module reads the address of the page.
Object.assign(globalThis, {
  location: { hash: "", pathname: "/ui/", search: "", origin: "http://127.0.0.1" },
  sessionStorage: { getItem: () => null },
  localStorage: { getItem: () => null },
});
const { markWords, toSearch } = await import("../src/search.tsx");

describe("the search", () => {
  it("takes the last word for the beginning of one", () => {
    expect(toSearch("quokka smil")).toBe("quokka smil*");
    expect(toSearch("größ")).toBe("größ*");
    for (const query of ['"open phrase', '"a phrase"', "done*", "東京 ", "-"]) expect(toSearch(query)).toBe(query);
  });

  it("marks the words of the query and nothing else", () => {
    expect(markWords("The build fails", "BUILD fail")).toEqual([
      { text: "The ", isMarked: false },
      { text: "build", isMarked: true },
      { text: " ", isMarked: false },
      { text: "fail", isMarked: true },
      { text: "s", isMarked: false },
    ]);
    expect(markWords("a.b", ".* ( \\")).toEqual([{ text: "a.b", isMarked: false }]);
  });
});
