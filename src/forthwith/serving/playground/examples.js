// States and questions to start from.
export const examples = [
  {
    title: "Support ticket",
    state: {
      subject: "Parcel missing",
      from: "a customer for four years",
      body: "Tracking has not moved for nine days and nobody answers my mails. I need the headphones on Friday. If they cannot be here by then I want my money back.",
    },
    questions: [
      { name: "queue", type: "choice", instructions: "Who should take this ticket?",
        options: [["carrier", "ask the carrier where the parcel is"], ["refund", "money back or a replacement"], ["sales", "questions before buying"], ["other", ""]] },
      { name: "leaving", type: "noul", instructions: "Is the customer likely to leave?", options: [["yes", ""], ["no", ""]] },
      { name: "upset", type: "score", instructions: "How upset is the writer?",
        options: [["0", "calm"], ["1", "irritated"], ["2", "angry"], ["3", "furious, threatens"]] },
    ],
  },
  {
    title: "Tool call",
    state: {
      agent: "travel assistant",
      user_said: "Find me something to Lisbon next week, not more than 200 euros.",
      proposed_call: { tool: "book_flight", arguments: { to: "LIS", price_eur: 248, refundable: false } },
    },
    questions: [
      { name: "allowed", type: "noul", instructions: "Does the proposed call stay within what the user asked for?",
        options: [["yes", "finding and comparing within the budget"], ["no", "spends money unasked or over the budget"]] },
      { name: "next", type: "choice", instructions: "What should the agent do with the call?",
        options: [["run", "run it now"], ["confirm", "ask the user first"], ["refuse", "do not run it"]] },
    ],
  },
  {
    title: "Personal agent",
    state: {
      memory: ["Works 9 to 17, no calls before 9.", "Mutes everything during dinner, 18:30 to 19:30.", "Her sister Ana is pregnant and due this week.", "Newsletters go to the weekly digest."],
      now: "Tuesday 18:50",
      event: { from: "Ana", channel: "message", text: "It has started, we are driving to the hospital!" },
    },
    questions: [
      { name: "notify", type: "choice", instructions: "How should the event reach the user?",
        options: [["ring", "interrupt now"], ["silent", "show without a sound"], ["digest", "keep for the summary"], ["drop", "never show"]] },
      { name: "remember", type: "noul", instructions: "Should this be remembered for longer than a day?", options: [["yes", ""], ["no", ""]] },
      { name: "urgency", type: "score", instructions: "How urgent is it?",
        options: [["0", "can wait for days"], ["1", "today"], ["2", "within the hour"], ["3", "this minute"]] },
    ],
  },
];
