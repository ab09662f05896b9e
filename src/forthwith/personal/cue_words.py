"""Words by which a reader tells what a sentence is about, and the ways to say the words of closed sets.

Written for verification, apart from the phrase files: a sentence that carries a value must also carry a cue of the
line that the value belongs to, in English, Chinese or the names of structured styles.
"""

from __future__ import annotations

import re
from functools import cache

__all__ = ["UNDATED_KINDS", "cue_of", "demands_approval", "is_about_approval", "word_pattern"]

_CUES: dict[str, str] = {
    "spend_limit": "spen[dt]|limit|pay|paid|purchas|order|bought|buy|bill|approv|cap\\b|ceiling|total|cost|charge|exceed|dearer"
    "|amount|ask|permission|check|okay|go-ahead|shopping|消费|花|买|订单|审批|批准|额度|付款|下单|总价|单笔|问",
    "approval_rule": "recipient|contact|messag|writ|stranger|unlisted|someone|somebody|addressee|send|revers|undo|undone|final"
    "|permanent|for good|way back|going back|rolled back|taken back|with no way"
    "|收件人|联系人|通讯录|写信|发消息|不可逆|撤销|恢复|挽回|收不回|删了就没"
    "|ask_first|confirmation_rule|approval_",
    "privacy_order": "privacy|private|level|marking|open|scale|ladder|隐私|order|guarded",
    "clearance": "guarded|clear|hear|know|told|tell|level|shar|access|privacy|private|facts|audience|trust|learn|talk|at most"
    "|goes to|is for|as far as|知道|权限|隐私|告诉|开放|公开到|说到|级",
    "fact_marking": "mark|level|privacy|private|guarded|label|class|treat|count|file|tagg|fact|note|memory|remember|known|said"
    "|标|级|隐私|看法|定为|privacy_of|归为|列为",
    "connected_services": "connect|access|link|hooked|连接|接通",
    "service_change": "connect|access|link|service|off\\b|on\\b|unlink|断开|连接|接通|停用|启用|权限",
    "routing_rule": "request|rout|handl|use|using|go|send|through|put|pass|deal|take|leave|belong|service|let|via|matter"
    "|走|交|用|转|通过|办|服务|负责|请求|处理",
    "quiet_hours": "quiet|peace|rest|sleep|disturb|ringing|nothing (?:louder|stronger)|安静|打扰|期间|吵",
    "meeting_cap": "meeting|calendar|during_events|会|日程|日历",
    "vip_list": "vip|always_through",
    "priority_code": "urgen|紧急|mark|code|tag",
    "urgency_scale": "urgen|紧急",
    "opinion_flip": "like|welcome|opinion|enjoy|went off|view|taste|fine|came round|not for|喜欢|改观|改了主意",
    "budget_limit": "budget|price|spend|pay|cost|up to|预算|价位|ceiling",
    "forget_request": "forg[eo]t|off the record|erase|drop|wipe|delete|strike|remove|do not use|withdr|took back|left alone"
    "|out of use|忘|收回|作废|memory_withdrawn",
    "repermission": "again|allow|lifted|back|permission|withdrawn|may be|can be|usable|after all|void|no longer|重新|再次|恢复|撤回"
    "|又可以|可以再用|可再|取消|撤销|启用|restored",
}

UNDATED_KINDS = frozenset(
    (
        "spend_limit",
        "clearance",
        "fact_marking",
        "connected_services",
        "routing_rule",
        "quiet_hours",
        "meeting_cap",
        "type_cap",
    )
)
"""Kinds of line that say no date, unless a date is among their values."""

_SPELLINGS: dict[str, str] = {
    "public": r"public(?: feed)?|公开|公众",
    "acquaintances": "acquaintances?|熟人",
    "friends": "friends|朋友",
    "family": r"family(?: members?)?|家人",
    "private": "private|私密",
    "close_friend": "close[ _]friends?|好友",
    "coworker": r"co-?workers?|colleagues?|同事",
    "service_provider": "service[ _]providers?|服务商",
    "silent": "silent|静默",
    "digest": "digest|摘要",
    "notify": "notify|通知",
    "interrupt": "interrupt|打断",
    "none": "none|无",
    "low": "low|低",
    "medium": "medium|中",
    "high": "high|高",
    "flights": "flights|航班",
    "restaurants": "restaurants|餐厅",
    "shopping": "shopping|购物",
    "email": r"e-?mail|邮件",
    "calendar": "calendar|日历",
    "flight_change": "flight[ _]changes?|航班变动",
    "price_drop": "price[ _]drops?|降价",
    "package_delivery": "package[ _]deliver(?:y|ies)|包裹派送",
    "message": "messages?|消息",
    "calendar_conflict": "calendar[ _]conflicts?|日程冲突",
    "bill_due": "bills?[ _]due|账单到期",
    "city": "city|cities|town|城市",
    "restaurant": "restaurants?|餐厅",
    "product": "products?|商品",
    "person": "person|people|人",
    "event": "events?|appointments?|事件",
    "booking": "bookings?|reservation|table|预订|订位",
    "notes": "notes|笔记",
    "likes": r"likes?",
    "dislikes": r"dislikes?",
}

_FORBIDDING = re.compile(
    r"(?:nobody|no one|\bnever\b|do not|\bno (?:irreversible|message)|don't (?:message|take|pay)|doesn't want|don't want"
    r"|may not|strangers get no|unknown people get no|没有.{1,4}(?:同意|许可).{0,4}(?:不|，))"
    r".*(?:without|unless|until|unasked|unapproved|on your own|不)"
    r"|only allowed|(?:approval_needed|must_ask|asks_first)\W{1,6}(?:yes|true|on)\b",
    re.IGNORECASE,
)
_WAIVING = re.compile(
    r"no need|n't need|n't have to|not necessary|unnecessary|no approval|\bwithout (?!an undo|refund)|unasked|waive"
    r"|switched off|no reason|no objection|free hand|no permission|no question|nothing needs|on its own|no rule against"
    r"|never mind|n't bother|n't wait|n't hold|makes no difference|n't matter|need no|no confirmation|no \(|are okay"
    r"|are permitted|不用|无需|不需要|不必|无须|不要求|允许不经|不设"
    r"|(?:approval_needed|must_ask|asks_first)\W{1,6}(?:no|false|off)\b",
    re.IGNORECASE,
)


_ABOUT = {
    "new_recipient": re.compile(
        r"recipient|contact|stranger|unlisted|some(?:one|body) new|new people|person|addressee|someone outside"
        r"|收件人|联系人|通讯录|第一次给|写信",
        re.IGNORECASE,
    ),
    "irreversible": re.compile(
        r"revers|undo|undone|permanent|(?:taken|rolled) back|way back|going back|for good|final|不可逆|撤销|恢复|挽回|收不回|删了就没",
        re.IGNORECASE,
    ),
}
_APPROVING = re.compile(
    r"\bask|approv|permission|okay|say-so|check|confirm|consent|agree|\byes\b|sign-off|question|wait|unasked"
    r"|不用|批准|同意|许可|点头|问|审批|无需",
    re.IGNORECASE,
)


def is_about_approval(sentence: str, about: str) -> bool:
    """Whether a sentence speaks of asking first before this kind of thing ("new_recipient", "irreversible")."""
    return bool(_ABOUT[about].search(sentence) and _APPROVING.search(sentence))


@cache
def cue_of(kind: str) -> re.Pattern[str] | None:
    """What a sentence about a line of this kind contains; None where its values speak for themselves."""
    cue = _CUES.get(kind)
    return re.compile(cue, re.IGNORECASE) if cue else None


@cache
def word_pattern(word: str) -> re.Pattern[str]:
    """The spellings of a closed-set word; of an open word, the word itself."""
    spelled = _SPELLINGS.get(word) or re.escape(word)
    # Chinese puts no spaces: only beside another Latin letter or digit does a Latin word run on.
    return re.compile(
        rf"(?<![A-Za-z0-9])(?=[\x00-\x7f])(?:{spelled})(?<=[\x00-\x7f])(?![A-Za-z0-9])|(?=[\u3040-\u9fff])(?:{spelled})",
        re.IGNORECASE,
    )


def demands_approval(sentence: str) -> bool:
    """Whether a sentence about approval demands it (True) or waives it (False)."""
    return bool(_FORBIDDING.search(sentence)) or not _WAIVING.search(sentence)
